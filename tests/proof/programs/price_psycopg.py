"""Prices with a version, on PostgreSQL; the caller brings the version that it has seen."""
import psycopg


def change_price(connection: psycopg.Connection, item: int, price: int, version: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(  # expect: unchecked-rowcount
            "UPDATE prices SET price = %s, version = version + 1 WHERE id = %s AND version = %s", (price, item, version)
        )
    connection.commit()
