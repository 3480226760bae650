"""The paper's two algorithms, transcribed line by line on dense arrays. Slow, and independent of the package."""

import numpy as np


def inner(a, b):
    return float(np.sum(np.conj(a) * b).real)


def norm(a):
    return np.sqrt(inner(a, a))


def align(d, d_hat):
    return inner(d, d_hat) / (norm(d) * norm(d_hat)) if norm(d_hat) > 0 else -1.0


def literal_boost(m, x, lmo, max_rounds, min_gain):
    """Algorithm Boost. Returns d~, s, K_t, how often the away candidate won the argmax, and all lambda_k."""
    psi, lam_sum, k, s, away_rounds, lambdas = np.zeros_like(x), 0.0, 0, None, 0, []
    while k <= max_rounds - 1:
        r = -m - psi
        v = lmo(-r)
        if k == 0:
            s = v
        candidates = [v - x]
        if norm(psi) > 0:
            candidates.append(-psi / norm(psi))
        u = candidates[int(np.argmax([inner(r, c) for c in candidates]))]
        is_away = len(candidates) == 2 and u is candidates[1]
        away_rounds += is_away
        if norm(u) == 0 or norm(m) == 0:
            k += 1
            break
        lam = inner(r, u) / norm(u) ** 2
        lambdas.append(lam)
        phi = psi + lam * u
        if align(-m, phi) - align(-m, psi) >= min_gain:
            lam_sum = lam_sum * (1 - lam / norm(psi)) if is_away else lam_sum + lam
            psi = phi
            k += 1
        else:
            k += 1
            break
    return (psi / lam_sum if lam_sum != 0 else np.zeros_like(x)), s, k, away_rounds, lambdas


def literal_bsfw(gradient, x0, lmo, decay, iterations, max_rounds, min_gain):
    """Algorithm BSFW (Full) with the exact gradient; the iterates x^0 ... x^T."""
    iterates, x = [x0], x0
    for t in range(iterations):
        m, eta = gradient(x), decay(t)
        d, s, *_ = literal_boost(m, x, lmo, max_rounds, min_gain)
        gamma = min(eta * norm(s - x) / norm(d), 1.0) if norm(d) > 0 else 1.0
        x = x + gamma * d if gamma < 1 else x + eta * (s - x)
        iterates.append(x)
    return iterates
