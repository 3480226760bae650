// The call that follows from three answers. No dependency; without JavaScript the tables of the page say the same.
(() => {
  const form = document.getElementById("chooser");
  const problems = {
    logistic: "bsfw.Logistic(A, y, intercept=True)",
    multinomial: "bsfw.Multinomial(A, y, intercept=True)",
    squares: "bsfw.LeastSquares(A, y, intercept=True)",
    robust: "bsfw.Huber(A, y, intercept=True)  # or bsfw.Tukey, which forgets gross errors, and is not convex",
    completion: 'bsfw.MatrixCompletion(ratings, "squared", implicit=True)',
    function: "bsfw.Function(f, gradient, shape=(n,), quasar_rho=1.0)  # leave quasar_rho out if f is not convex",
  };
  const sets = {
    l1: "bsfw.L1Ball(radius)",
    simplex: "bsfw.Simplex()",
    group: "bsfw.GroupBall(groups, radius)",
    ksparse: "bsfw.KSparse(k, bound)",
    l2: "bsfw.L2Ball(radius)",
    box: "bsfw.Box(lower, upper)",
    nuclear: "bsfw.NuclearBall(radius)",
    birkhoff: "bsfw.Birkhoff(n)",
    own: "bsfw.Oracle(best_point_in_a_direction, shape=(n,))",
  };
  const gradients = {
    exact: "",
    batch: "estimator=bsfw.SAGA(batch_size=0.01), max_iter=5000, rng=0",
    stream: "estimator=bsfw.HeavyBall(batch_size=0.01), max_iter=5000, rng=0",
    values: "estimator=bsfw.ZOJA(), max_iter=100_000, rng=0",
  };
  const show = () => {
    const { problem, set, gradient } = Object.fromEntries(new FormData(form));
    const completion = problem === "completion";
    let objective = problems[problem];
    let options = gradients[gradient];
    if (completion && gradient !== "exact") objective = 'bsfw.MatrixCompletion(ratings, loss="squared")';
    if (completion && gradient === "batch") options = gradients.stream;
    if (problem === "function" && (gradient === "batch" || gradient === "stream")) {
      objective = "bsfw.Function(f, gradient, shape=(n,), n_samples=m, batch_jac=batch_gradient, quasar_rho=1.0)";
      options = gradient === "batch" ? "estimator=bsfw.SARAH(), max_iter=5000, rng=0" : gradients.stream;
    }
    const constraint = completion ? (gradient === "exact" ? "" : "bsfw.NuclearBall(radius)") : sets[set];
    const lines = [`objective = ${objective}`];
    lines.push(`result = bsfw.minimize(${["objective", constraint, options].filter(Boolean).join(", ")})`);
    lines.push("print(result.message, result.why)");
    form.elements.set.disabled = completion;
    document.getElementById("chooser-call").textContent = lines.join("\n");
  };
  form.addEventListener("change", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
})();
