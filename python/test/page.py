"""The sessions of pages in doc."""
import doctest
import os
import re


def failures(title, before, name="python.md"):
    """How many examples of the page before a title, or from it on, do not give what the page says."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../doc", name)
    with open(path, encoding="utf-8") as file:
        part = file.read().partition(title)[0 if before else 2]
    session = "\n".join(re.findall(r"^```python\n(.*?)^```$", part, re.M | re.S))
    test = doctest.DocTestParser().get_doctest(session, {}, name, path, 0)
    assert test.examples
    return doctest.DocTestRunner().run(test).failed
