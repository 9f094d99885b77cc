"""The torture test (tools/torture): random users, random outages, and a judge who believes neither.

``choices`` decides by a seed what each user does and what is taken away; ``users`` and
``outages`` do it. ``ledger`` keeps what users were told, ``calm`` what was away when, and
``answers`` what was answered. ``reading`` looks at the tables; ``judge`` compares them with the
ledger, by arithmetic of its own (``arithmetic``). ``stage`` prepares the cloud, ``run`` puts all
together, and ``report`` says what came of it.

``campaign`` is a test of another kind: ``members`` sends hostile requests, with values of
``bounds``, while managers are killed; ``verdicts`` judges the answers, and ``measures`` looks at
memory and CPU time.

Nothing here imports the package that is judged.
"""

import pathlib
import sys

# The modules of the dev cloud.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
