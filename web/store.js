/**
 * What the page remembers from visit to visit. A browser that forbids storage just forgets.
 *
 * @module store
 */

/**
 * @template T
 * @param {string} name
 * @param {T} fallback given when nothing, or nothing of its kind, is stored
 * @returns {T}
 */
export function recall(name, fallback) {
  try {
    const value = JSON.parse(localStorage.getItem(`voxwire.${name}`) ?? 'null');
    const alike = value !== null && typeof value === typeof fallback && Array.isArray(value) === Array.isArray(fallback);
    return alike ? value : fallback;
  } catch {
    return fallback;
  }
}

/** @param {string} name @param {unknown} value */
export function remember(name, value) {
  try {
    localStorage.setItem(`voxwire.${name}`, JSON.stringify(value));
  } catch {
    // Full or forbidden: nothing depends on it.
  }
}
