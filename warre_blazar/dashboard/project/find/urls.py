"""The addresses of the panel "Find and Book"."""

from django.urls import path

from warre_blazar.dashboard.project.find import booking, views

urlpatterns = [
    path("", views.FindPage.as_view(), name="index"),
    path("zone/", views.ZoneSwitch.as_view(), name="zone"),
    path("book/<str:flavor>/", booking.BookPage.as_view(), name="book"),
]
