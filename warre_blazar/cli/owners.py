"""Adds the names of projects and users to documents that have their ids."""

from collections.abc import Iterable

from warre_blazar.cli import base, project_names, user_names
from warre_blazar.client.types import Document

#: The columns that say whose an object is.
COLUMNS = ("project", "project_id", "user", "user_id")


def named(command: base.Command, documents: Iterable[Document]) -> list[Document]:
    """Return the documents with the names of their projects and users. An unknown name is None."""
    rows = list(documents)
    projects = project_names.names(command, (row["project_id"] for row in rows))
    users = user_names.names(command, (row.get("user_id") for row in rows))
    return [
        {
            **row,
            "project": projects.get(row["project_id"] or ""),
            "user": users.get(row.get("user_id") or ""),
        }
        for row in rows
    ]
