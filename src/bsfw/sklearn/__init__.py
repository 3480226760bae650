"""bsfw for scikit-learn: classifiers, regressors, their cross-validated forms, and matrix completion.

A bound on the coefficients instead of a penalty, and a certificate of the fit. ``import sklearn`` inside of this
package is scikit-learn: imports are absolute.
"""

from .._extras import extra

extra("sklearn", "bsfw.sklearn", "sklearn")

from .cross_validation import FrankWolfeClassifierCV, FrankWolfeRegressorCV
from .imputer import NuclearNormImputer
from .linear import FrankWolfeClassifier, FrankWolfeRegressor
from .ratings import RatingRegressor

__all__ = [
    "FrankWolfeClassifier",
    "FrankWolfeClassifierCV",
    "FrankWolfeRegressor",
    "FrankWolfeRegressorCV",
    "NuclearNormImputer",
    "RatingRegressor",
]
