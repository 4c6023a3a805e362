from .bindings import Binding as Binding
from .table import BindingTable as BindingTable
