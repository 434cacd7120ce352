/** Style of the contract page. The page embeds it, and its policy allows it by digest. */
export const docsStyle = `
:root { color-scheme: light dark; --ink: #1b2430; --soft: #5b6675; --line: #dfe4ea; --paper: #ffffff; --wash: #f5f7f9; --link: #0b5cad;
  --get: #0b6e4f; --put: #8a5a00; --post: #0b5cad; --patch: #6b3fa0; --delete: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ef; --soft: #9aa6b5; --line: #2c3540; --paper: #12171d; --wash: #1a2129; --link: #7db7f2;
  --get: #58c79c; --put: #e0b050; --post: #7db7f2; --patch: #c3a1ee; --delete: #f28b82; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; display: grid; grid-template-columns: 19rem minmax(0, 1fr); color: var(--ink); background: var(--paper);
  font: 15px/1.55 system-ui, sans-serif; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.25rem; background: var(--wash); border-right: 1px solid var(--line); font-size: 13px; }
nav p { margin: 1.1rem 0 .3rem; color: var(--soft); font-weight: 600; }
nav .name { margin-top: 0; color: var(--ink); font-size: 15px; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav a { display: block; padding: .2rem 0; color: inherit; text-decoration: none; }
nav a:hover, nav a:focus-visible { color: var(--link); }
main { max-width: 62rem; padding: 2rem clamp(1rem, 4vw, 3.5rem) 6rem; }
h1 { margin: 0; font-size: 1.9rem; }
h2 { margin: 3.5rem 0 1rem; padding-bottom: .35rem; border-bottom: 1px solid var(--line); font-size: 1.35rem; }
h3 { margin: 0 0 .5rem; font-size: 1.1rem; }
h3 a { color: inherit; text-decoration: none; }
h3 a:hover { text-decoration: underline; }
h4 { margin: 1.25rem 0 .4rem; font-size: .85rem; color: var(--soft); }
a { color: var(--link); }
p { margin: .4rem 0; }
code { font: .88em/1.4 ui-monospace, monospace; padding: .08em .3em; border-radius: 4px; background: var(--wash); overflow-wrap: anywhere; }
section { margin: 0 0 1.5rem; padding: 1.25rem; border: 1px solid var(--line); border-radius: 8px; }
section:target { border-color: var(--link); }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
th { padding: .35rem .6rem .35rem 0; text-align: left; font-weight: 600; color: var(--soft); }
td { padding: .45rem .6rem .45rem 0; border-top: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
td p { margin: 0 0 .15rem; }
td:first-child { width: 34%; } td:nth-child(2) { width: 22%; }
.prefix, .rules, .values, .release, .access, .format { color: var(--soft); }
.required { color: var(--delete); font-size: 12px; }
.method { display: inline-block; min-width: 3.6em; font: 600 11px ui-monospace, monospace; }
.line .method { font-size: 14px; }
.get { color: var(--get); } .put { color: var(--put); } .post { color: var(--post); } .patch { color: var(--patch); } .delete { color: var(--delete); }
details { border-top: 1px solid var(--line); padding: .4rem 0; }
summary { cursor: pointer; }
.status { display: inline-block; min-width: 2.6em; font-weight: 600; }
.done { color: var(--get); } .refused { color: var(--delete); }
@media (max-width: 60rem) { body { display: block; } nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); } }
@media print { nav { display: none; } body { display: block; } section { break-inside: avoid; } }
`
