//! Graph and plan to a recording.
