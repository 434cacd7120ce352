/** The one style sheet of the account pages: light and dark by the browser's preference, no font and no image. */
export const style = `
:root { color-scheme: light dark; --page: light-dark(#f6f6f4, #141514); --card: light-dark(#fff, #1d1f1d);
  --text: light-dark(#1a1c1a, #ecefec); --quiet: light-dark(#5c625c, #9da59d); --line: light-dark(#dcdedb, #343834);
  --accent: light-dark(#1f6f54, #58c49c); --on-accent: light-dark(#fff, #0d1d17); --wrong: light-dark(#a3261d, #ff9d94) }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 24px 16px; background: var(--page);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 26rem; padding: 32px; background: var(--card); border: 1px solid var(--line);
  border-radius: 14px; box-shadow: 0 1px 2px rgb(0 0 0 / 4%), 0 12px 32px rgb(0 0 0 / 6%) }
.mark { margin: 0 0 24px; font-weight: 650; letter-spacing: .02em; color: var(--accent) }
h1 { margin: 0 0 8px; font-size: 1.4rem; line-height: 1.25; letter-spacing: -.01em }
p { margin: 0 0 16px; color: var(--quiet); overflow-wrap: anywhere }
p strong { color: var(--text); font-weight: 600 }
form { display: grid; gap: 16px; margin-top: 24px }
label { display: grid; gap: 6px; font-weight: 550; font-size: .925rem }
small { font-weight: 400; color: var(--quiet) }
input { width: 100%; padding: 10px 12px; font: inherit; color: inherit; background: var(--page);
  border: 1px solid var(--line); border-radius: 8px }
input:focus-visible, button:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
button { padding: 11px 16px; font: inherit; font-weight: 600; color: var(--on-accent); background: var(--accent);
  border: 1px solid transparent; border-radius: 8px; cursor: pointer }
button:hover { filter: brightness(1.07) }
button.quiet { color: inherit; background: none; border-color: var(--line) }
.wrong { margin: 16px 0 0; padding: 10px 12px; color: var(--wrong); border: 1px solid currentColor; border-radius: 8px }
a { color: var(--accent) }
code { font: .9em ui-monospace, monospace; color: var(--text) }
`
