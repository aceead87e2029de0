"""A small ticket shop: events and orders in Django, vouchers and tills in SQLite, seating plans over HTTP, door lists in S3."""
