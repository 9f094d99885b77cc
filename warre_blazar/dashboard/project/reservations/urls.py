"""The addresses of the panel "My Reservations"."""

from django.urls import path

from warre_blazar.dashboard.project.reservations import (
    calendars,
    changing,
    launching,
    sharing,
    views,
)

urlpatterns = [
    path("", views.MyReservationsPage.as_view(), name="index"),
    path("messages/", views.MessagesSwitch.as_view(), name="messages"),
    path("calendar.ics", views.CalendarFilePage.as_view(), name="calendar"),
    path("calendars/", calendars.CalendarsPage.as_view(), name="calendars"),
    path(
        "calendars/<str:calendar>/",
        calendars.WithdrawCalendarPage.as_view(),
        name="withdraw_calendar",
    ),
    path("delete/", changing.DeletePage.as_view(), name="delete"),
    path("<str:ref>/", views.ReservationPage.as_view(), name="detail"),
    path("<str:ref>/change/", changing.ChangePage.as_view(), name="change"),
    path("<str:ref>/end/", changing.EndPage.as_view(), name="end"),
    path("<str:ref>/share/", sharing.SharePage.as_view(), name="share"),
    path("<str:ref>/share/<str:share>/", sharing.EndSharePage.as_view(), name="end_share"),
    path("<str:ref>/launch/", launching.LaunchPage.as_view(), name="launch"),
    path("<str:ref>/calendar.ics", views.CalendarFilePage.as_view(), name="calendar_one"),
]
