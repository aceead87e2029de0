"""A rota with a revision that is compared and that nobody raises (pymongo)."""
from pymongo.collection import Collection


class Conflict(Exception):
    pass


def assign(rotas: Collection, rota: str, nurse: str) -> None:
    doc = rotas.find_one({"_id": rota})
    names = doc["names"] + nurse + ";"
    result = rotas.update_one({"_id": rota, "rev": doc["rev"]}, {"$set": {"names": names}})  # expect: version-not-bumped
    if result.matched_count != 1:
        raise Conflict(rota)
