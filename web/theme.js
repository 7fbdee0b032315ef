// Runs before the page is painted, so that a chosen theme does not flash: the one classic script here.
(() => {
  let theme;
  try {
    theme = JSON.parse(localStorage.getItem('voxwire.theme') ?? 'null');
  } catch {
    // Storage may be forbidden: the system's theme it is.
  }
  if (theme !== 'light' && theme !== 'dark') theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  document.documentElement.dataset.theme = theme;
})();
