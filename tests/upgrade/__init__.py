"""Replaces the version before this one on a dev cloud by this one, and back, while users go on.

The version before runs from an environment of its own, with a database of its own making. About
sixty reservations of all kinds exist when the upgrade begins (``standing``). The users, the judge
and the audit are those of the torture test. Beside them, a user goes on with the commands of the
version before (``commands``), and ``onlooker`` measures how late starts and ends are. ``rolling``
replaces one service after the other, by ``versions``.
"""

# It lets modules of the dev cloud be imported.
import tests.torture  # noqa: F401
