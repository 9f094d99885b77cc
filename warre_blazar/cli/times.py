"""Every time that the commands wait or look ahead, beside those of the Python client.

A number is a number of seconds, unless its name ends in another unit. The comments are as in
``warre_blazar/times.py``, which has the times of the server.
"""

# Units

#: The minutes of each unit in which users write lengths. The first two are those of 14:30.
UNIT_MINUTES = {"hours": 60, "minutes": 1, "w": 7 * 24 * 60, "d": 24 * 60, "h": 60, "m": 1}

# The commands

#: A request to Keystone or Nova waits this long for its answer.
#: :longer: A command hangs longer if the service does.
#: :shorter: A command shows ids instead of names, or fails, although the service is only slow.
REQUEST_TIMEOUT = 60
#: ``reservation run`` warns so many minutes before the end, if the user doesn't say.
#: :longer: Users are warned when there is nothing to do yet.
#: :shorter: Users have less time to save their work.
WARNS_AHEAD_MINUTES = 10
#: ``reservation run`` asks this often whether the end is another one by now.
#: :longer: A warning before an end that was brought forward comes later.
#: :shorter: The API gets more requests.
RUN_LOOKS_AGAIN = 60
#: The calendar shows so many days, if the user doesn't say.
#: :longer: The calendar doesn't fit on the screen.
#: :shorter: Users must name the number of days more often.
CALENDAR_DAYS = 14
#: The largest number of days that the calendar shows.
#: :longer: The API may take long to answer.
#: :shorter: Users must ask several times to see a year.
CALENDAR_LIMIT_DAYS = 366
#: The list of hosts shows the reservations of so many days, if the user doesn't say.
#: :longer: The list gets longer.
#: :shorter: Operators must name an end more often.
HOSTS_SHOWN_DAYS = 7
#: The longest length that a command takes.
#: :longer: Ends may be later than any date that programs can represent.
#: :shorter: Reservations of flavors without a limit are refused.
LENGTH_LIMIT_HOURS = 100 * 366 * 24
#: The times in help texts are so many days ahead.
#: :longer: Copied examples book later.
#: :shorter: Examples have passed sooner where a text is kept.
EXAMPLES_AHEAD_DAYS = 7
#: A date without a year is refused if it has passed, and lies at most so many days back: the user
#: may have mistyped the month.
#: :longer: More dates of next year must be written with the year.
#: :shorter: A mistyped date books next year.
JUST_PASSED_DAYS = 31
#: In a list, a date without a year is the nearest one, if it is at most so many days from today.
#: :longer: Some dates are read as those of the wrong year.
#: :shorter: More dates must be written with the year.
NEAREST_DATE_DAYS = 120
#: A date without a year is refused if it comes only after so many days, such as a February 29.
#: :longer: A date is booked that the user didn't mean.
#: :shorter: Dates of next year must be written with the year.
NEXT_DATE_DAYS = 366
#: An axis of less than two days has marks that are so many hours apart: as few as fit. A longer
#: axis has no marks but midnights.
#: :longer: Axes have fewer marks.
#: :shorter: Axes have more marks.
MARKS_APART_HOURS = (1, 2, 3, 6, 12, 24)
#: Lengths in hours are shown in steps of 0.05 h, which is so many minutes. ``--hours`` takes them.
#: :longer: Lengths are shown less exactly.
#: :shorter: Some lengths that are shown can't be typed as a number of hours.
SHOWN_STEP_MINUTES = 3
