"""Replaces the libraries that torchtune imports but a plain run does not use."""
import importlib.abc
import importlib.machinery
import os
import sys
import types

NAMES = ("torchao", "omegaconf", "torchdata", "kagglehub", "tiktoken", "blobfile", "sentencepiece")


class Meta(type):
    def __call__(cls, *a, **k):  # used only as a decorator
        return lambda f=None: f

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *a, **k: None


class Stub(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name == "__version__":
            return "0.18.0"
        if name.startswith("__"):
            raise AttributeError(name)
        return Meta(name, (), {"__class_getitem__": classmethod(lambda c, k: c)})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in NAMES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Stub(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
