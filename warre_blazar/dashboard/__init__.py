"""Pages for Horizon, OpenStack's dashboard, which send their requests by the Python client.

The pages repeat no rule of the API. What can be booked, why not, and when next are answers of the
API. Horizon comes with the extra ``dashboard``.
"""
