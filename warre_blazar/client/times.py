"""Every time that the Python client waits. The manual prints this table.

A number is a number of seconds. The comments are as in ``warre_blazar/times.py``, which has the
times of the server.
"""

import datetime

# Units

#: Lengths of reservations are in hours.
HOUR = datetime.timedelta(hours=1)

# The Python client

#: A request waits this long for its answer, if the session has no timeout of its own. A booking can
#: take long.
#: :longer: A program hangs longer if the API does.
#: :shorter: A program doesn't hear the outcome of a slow booking.
ANSWER_TIMEOUT = 300
#: A request that creates something is sent again after these pauses, if its outcome isn't known. It
#: has an idempotency key, so nothing is created twice.
#: :longer: A program waits longer if the API is away for a moment.
#: :shorter: An API that is restarted is asked in vain, and the program gets an error.
REPEATED_AFTER = (1, 2, 4, 8, 15)
#: While a program waits until a reservation has started, its function is called this often.
#: :longer: The time that a user sees counts down in larger steps.
#: :shorter: The program uses more processor time.
PROGRESS_EVERY = 1.0
#: While a program waits until a reservation has started, the API is asked this often.
#: :longer: The program goes on later after the start.
#: :shorter: The API gets more requests.
START_POLL = 5.0
#: While a program waits until a reservation has started, the API may be away for this long.
#: :longer: The program hears later that the API is gone.
#: :shorter: The program gives up during a restart of the API.
AWAY_AT_MOST = 600.0
#: Calendar programs tell the user this long before a reservation ends.
#: :longer: Users may not know yet whether they need more time.
#: :shorter: Users have less time to save their work.
ALARM_BEFORE_END = HOUR
#: A calendar file also has the reservations that have ended within this time, and those that were
#: deleted, if their time isn't over for longer.
#: :longer: Files are larger.
#: :shorter: If a file is opened that late in the calendar that has an older one, reservations that
#:    were deleted or ended early stay in the calendar as they were.
PAST_IN_CALENDARS = datetime.timedelta(days=28)
