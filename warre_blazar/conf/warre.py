"""The group ``[warre]`` of blazar.conf."""

from oslo_config import cfg

GROUP = "warre"

OPTS: list[cfg.Opt] = [
    cfg.IntOpt(
        "request_timeout",
        default=60,
        min=1,
        help="Seconds that one request to Keystone, Nova or Placement may take. Longer ones count "
        "as the service being away: a booking is refused, a start or an end is tried again later.",
    ),
    cfg.IntOpt(
        "server_deletion_timeout",
        default=45,
        min=0,
        help="Seconds that the end or deletion of a reservation waits for its servers to be gone. "
        "When it has passed the reservation ends all the same, and the rest of the clean-up goes "
        "on in the background. Keep it under [DEFAULT] rpc_response_timeout, or the user who "
        "deletes a reservation is told that the deletion goes on instead of that it is done.",
    ),
    cfg.IntOpt(
        "reconcile_interval",
        default=20,
        min=1,
        help="Seconds between two looks for what is left to do in Nova and Placement: to remove "
        "what belongs to a reservation that is no more, and to open one to its project when that "
        "failed at its start. A longer one means that leftovers stay longer, and that after Nova "
        "was away a running reservation becomes usable later.",
    ),
    cfg.IntOpt(
        "event_threads",
        default=16,
        min=1,
        help="Leases that a manager starts and ends at the same time. With more threads more "
        "leases are on time when many are due in the same minute, and Nova, Placement and the "
        "database get as many more requests at once.",
    ),
    cfg.StrOpt(
        "host_choice",
        default="pack",
        choices=[
            (
                "pack",
                "The fullest host that has room comes first, which leaves whole hosts to big "
                "flavors and to physical:host reservations.",
            ),
            (
                "spread",
                "The emptiest host comes first and a booking's instances go one to each in "
                "turn, so that fewer of them fail with a host; big flavors are refused earlier.",
            ),
        ],
        help="On which of the hosts that have room a booking's instances go. What is booked stays "
        "where it is when this changes.",
    ),
    cfg.IntOpt(
        "max_request_body",
        default=128 * 1024,
        min=1024,
        help="Bytes that the body of one request may have where warre_blazar.wsgi.api serves the "
        "API; longer ones are answered with 413 before anything reads them. The API of flavors "
        "takes at most 131072 whatever this says.",
    ),
    cfg.IntOpt(
        "max_lease_reservations",
        default=32,
        min=1,
        help="Reservations that a lease may be made with over Blazar's v1 API where "
        "warre_blazar.wsgi.api serves it; more are answered with 413. The manager needs several "
        "requests to Nova and Placement for each, and does nothing else for that client meanwhile.",
    ),
]
