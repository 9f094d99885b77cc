"""The addresses of the panel "Series"."""

from django.urls import path

from warre_blazar.dashboard.project.series import booking, ending, views

urlpatterns = [
    path("", views.AllSeriesPage.as_view(), name="index"),
    path("create/", booking.CreateSeriesPage.as_view(), name="create"),
    path("<str:ref>/", views.SeriesPage.as_view(), name="detail"),
    path("<str:ref>/extend/", booking.ExtendSeriesPage.as_view(), name="extend"),
    path("<str:ref>/missing/", booking.MissingPage.as_view(), name="missing"),
    path("<str:ref>/end/", ending.EndSeriesPage.as_view(), name="end"),
    path("<str:series>/drop/<str:ref>/", ending.DropPage.as_view(), name="drop"),
]
