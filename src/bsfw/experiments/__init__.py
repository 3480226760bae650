"""The paper's experiments, and a user's own, as data: planned (`spec`), run (`runner`), and shown (`report`)."""
