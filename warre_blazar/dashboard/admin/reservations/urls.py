"""The addresses of the panel "All Reservations"."""

from django.urls import path

from warre_blazar.dashboard.admin.reservations import views

urlpatterns = [
    path("", views.AllReservationsPage.as_view(), name="index"),
    path("<str:ref>/", views.AnyReservationPage.as_view(), name="detail"),
    path("<str:ref>/change/", views.AnyChangePage.as_view(), name="change"),
    path("<str:ref>/end/", views.AnyEndPage.as_view(), name="end"),
]
