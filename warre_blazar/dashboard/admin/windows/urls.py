"""The addresses of the panel "Maintenance Windows"."""

from django.urls import path

from warre_blazar.dashboard.admin.windows import views

urlpatterns = [
    path("", views.WindowsPage.as_view(), name="index"),
    path("create/", views.CreateWindowPage.as_view(), name="create"),
    path("<str:ref>/edit/", views.EditWindowPage.as_view(), name="edit"),
    path("<str:ref>/delete/", views.DeleteWindowPage.as_view(), name="delete"),
]
