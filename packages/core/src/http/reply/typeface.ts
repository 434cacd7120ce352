/**
 * The typeface of the console, for pages outside of it: a rule for their style, and what loads the file as early as they do
 * themselves. A process that serves no console has no such file, and its pages keep the system's typeface.
 */
export const typeface = `@font-face { font-family: Inter; src: url("/inter.woff2") format("woff2"); font-weight: 100 900; font-display: swap; }`
export const typefaceLink = '<link rel="preload" href="/inter.woff2" as="font" type="font/woff2" crossorigin>'
