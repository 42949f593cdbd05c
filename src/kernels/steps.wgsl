// The functions that element-wise steps call. A head takes those it needs, over its own `V`: f32 or vec4f.
alias V = vec4f;

// Abramowitz and Stegun 7.1.26, absolute error below 1.5e-7.
fn erf_(x: V) -> V {
    let t = V(1.0) / (V(1.0) + 0.3275911 * abs(x));
    let p = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    return sign(x) * (V(1.0) - p * exp(-x * x));
}

// exp is kept from overflowing: what WGSL gives beyond is not defined.
fn sigmoid_(x: V) -> V {
    return V(1.0) / (V(1.0) + exp(min(-x, V(80.0))));
}

fn tanh_(x: V) -> V {
    return tanh(clamp(x, V(-15.0), V(15.0)));
}

fn softplus_(x: V) -> V {
    return max(x, V(0.0)) + log(V(1.0) + exp(-abs(x)));
}

// WGSL's pow knows no negative base; IEEE's does for whole exponents.
fn pow_(x: V, y: V) -> V {
    let p = pow(abs(x), y);
    let odd = abs(y - V(2.0) * floor(V(0.5) * y)) == V(1.0);
    let signed = select(p, -p, (x < V(0.0)) & odd);
    let zero = select(V(0.0), V(1.0) / abs(x), y < V(0.0));
    return select(select(signed, zero, x == V(0.0)), V(1.0), y == V(0.0));
}

// WGSL's own sine may be off by 2^-11. Reduced to [-pi/2, pi/2] in two parts of 2 pi, then Taylor's series to x^11.
fn sin_(x: V) -> V {
    let k = round(x * 0.15915494);
    let r = (x - k * 6.28125) - k * 0.0019353072;
    let f = select(r, sign(r) * 3.1415927 - r, abs(r) > V(1.5707964));
    let s = f * f;
    return f * (V(1.0) + s * (V(-0.16666667) + s * (V(0.008333334) + s * (V(-0.00019841270) + s * (V(0.0000027557319) - s * 0.000000025052108)))));
}
