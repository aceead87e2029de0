"""Sign up for a course: a mail leaves before the commit (Django)."""
from django.core.mail import send_mail
from django.db import models, transaction


class Course(models.Model):
    free = models.IntegerField(default=1)

    class Meta:
        app_label = "courses"


class Signup(models.Model):
    course = models.ForeignKey(Course, on_delete=models.CASCADE)
    mail = models.CharField(max_length=80)

    class Meta:
        app_label = "courses"
        constraints = [models.UniqueConstraint(fields=["course"], name="one_place")]


def sign_up(course_id: int, mail: str) -> None:
    with transaction.atomic():
        send_mail("Welcome", "You have a place.", "school@example.org", [mail])  # expect: effect-before-commit
        Signup.objects.create(course_id=course_id, mail=mail)
