"""The addresses of the panel "Reservable Flavors"."""

from django.urls import path

from warre_blazar.dashboard.admin.flavors import access, editing, views

urlpatterns = [
    path("", views.FlavorsPage.as_view(), name="index"),
    path("create/", editing.CreateFlavorPage.as_view(), name="create"),
    path("<str:ref>/", views.FlavorPage.as_view(), name="detail"),
    path("<str:ref>/edit/", editing.EditFlavorPage.as_view(), name="edit"),
    path("<str:ref>/delete/", editing.DeleteFlavorPage.as_view(), name="delete"),
    path("<str:ref>/access/", access.GrantAccessPage.as_view(), name="grant"),
    path("<str:ref>/access/<str:access>/", access.RevokeAccessPage.as_view(), name="revoke"),
]
