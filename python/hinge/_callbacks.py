"""scikit-learn's callbacks (``sklearn.callback``, from scikit-learn 1.9 on) in the estimators of hinge.sklearn."""
from __future__ import annotations

from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before 1.9
    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Callbacks are not to be had."""

    def with_callbacks(method: Any) -> Any:
        return method

__all__ = ["CallbackSupportMixin", "Tasks", "with_callbacks"]


class Tasks:
    """A fit as callbacks see it: one task, and in it a task for each time that the library tells how far it is (a
    training's rounds, a search's points), whose ``metadata["progress"]`` is what it tells. A callback whose
    ``on_fit_task_end`` gives a true value ends the training with the best so far. Without callbacks it does nothing."""

    def __init__(self, estimator: Any, X: Any, y: Any, weights: Any):
        self.estimator, self.context, self.stopped = estimator, None, False
        if not hasattr(estimator, "_skl_callbacks") and not hasattr(estimator, "_parent_callback_ctx"):
            return
        metadata = {} if weights is None else {"sample_weight": weights}
        labels = (lambda: estimator.classes_.take(y)) if hasattr(estimator, "classes_") else y
        self.given = {"estimator": estimator, "X": X, "y": labels}
        self.metadata: dict[str, Any] = metadata
        self.context = estimator._init_callback_context(max_subtasks=None)
        self.context.call_on_fit_task_begin(**self.given, metadata=metadata or None)

    def look(self, progress: dict[str, Any]) -> bool:
        """Tells of it, verbose estimators by a line; whether the fit is to end."""
        if self.estimator.verbose and "point" not in progress:
            self.estimator._print(progress)
        if self.context is None:
            return False
        task, metadata = self.context.subcontext("look"), {**self.metadata, "progress": progress}
        task.call_on_fit_task_begin(**self.given, metadata=metadata)
        self.stopped = bool(task.call_on_fit_task_end(**self.given, metadata=metadata))
        return self.stopped

    def end(self) -> None:
        """The estimator is fitted."""
        if self.context is not None:
            self.context.call_on_fit_task_end(**self.given, metadata=self.metadata or None,
                                              reconstruction_attributes={})
