import { typeface } from '../reply/typeface.ts'

/** Style of the API reference. Its pages embed it, and their policy allows it by digest. The colours are those of the console. */
export const docsStyle = `${typeface}
:root { color-scheme: light dark; --ink: #15181d; --soft: #5c6573; --line: #e3e6ec; --paper: #ffffff; --wash: #f4f5f8; --link: #1c5bc4; --on: #ffffff;
  --get: #0b6b37; --put: #85500a; --post: #1c5bc4; --patch: #7a3aa8; --delete: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e9ebef; --soft: #929ba9; --line: #242a33; --paper: #0f1115; --wash: #171b21; --link: #8ab4ff; --on: #0b1526;
  --get: #57d28a; --put: #eab65a; --post: #8ab4ff; --patch: #d3a6f5; --delete: #ff938a; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { scroll-behavior: smooth; scroll-padding-top: 4.5rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; display: grid; grid-template: auto 1fr / 16rem minmax(0, 1fr); color: var(--ink); background: var(--paper);
  font: 15px/1.55 Inter, system-ui, sans-serif; }
header { position: sticky; top: 0; z-index: 1; grid-column: 1 / -1; display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.25rem; padding: .75rem 1.5rem; border-bottom: 1px solid var(--line); background: var(--paper); }
header nav { margin-left: auto; display: flex; gap: 1.25rem; font-size: 14px; }
.brand { display: flex; align-items: center; gap: .6rem; color: inherit; font-weight: 650; text-decoration: none; }
.brand span { color: var(--soft); font-weight: 400; }
.brand svg { width: 24px; height: 24px; } .brand rect { fill: var(--link); } .brand path { fill: none; stroke: var(--on); stroke-width: 3; stroke-linejoin: round; }
.contents { position: sticky; top: 3.2rem; max-height: calc(100vh - 3.2rem); overflow-y: auto; align-self: start; padding: 1rem 1.5rem; font-size: 14px; }
.contents summary { display: none; }
.contents ul, .here, .list ul { margin: 0; padding: 0; list-style: none; }
.contents a { display: block; padding: .3rem .5rem; border-radius: 6px; color: inherit; text-decoration: none; }
.contents a:hover { color: var(--link); } .contents a[aria-current] { background: var(--wash); color: var(--link); font-weight: 600; }
main { max-width: 58rem; padding: 2rem clamp(1rem, 4vw, 3rem) 6rem; }
h1 { margin: 0 0 1rem; font-size: 1.8rem; }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.25rem; }
h3 { margin: 1.25rem 0 .4rem; font-size: .95rem; }
section h2 { margin: 0 0 .5rem; font-size: 1.1rem; }
h2 a, .schema h3 a { color: inherit; text-decoration: none; }
h2 a:hover, .schema h3 a:hover { text-decoration: underline; }
a { color: var(--link); }
p { margin: .4rem 0; }
code { font: .88em/1.4 ui-monospace, monospace; padding: .08em .3em; border-radius: 4px; background: var(--wash); overflow-wrap: anywhere; }
pre { margin: .2rem 0 .6rem; padding: .6rem .8rem; border: 1px solid var(--line); border-radius: 8px; background: var(--wash); overflow-x: auto; }
pre code { padding: 0; background: none; overflow-wrap: normal; }
.examples p { color: var(--soft); font-size: 13px; }
section { margin: 0 0 1.5rem; padding: 1.25rem; border: 1px solid var(--line); border-radius: 8px; }
section:target { border-color: var(--link); }
section.list { padding: 0; border: 0; }
.here { margin: 0 0 2rem; columns: 20rem; }
.here li, .list li { padding: .15rem 0; } .here a, .list li a { color: inherit; text-decoration: none; } .here a:hover, .list li a:hover { color: var(--link); }
.list code { color: var(--soft); }
input { width: min(24rem, 100%); height: 2.25rem; margin-left: .5rem; padding: 0 .75rem; border: 1px solid var(--soft); border-radius: 8px; color: inherit; background: var(--paper); font: inherit; }
input::placeholder { color: var(--soft); opacity: 1; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
th { padding: .35rem .6rem .35rem 0; text-align: left; font-weight: 600; color: var(--soft); }
td { padding: .45rem .6rem .45rem 0; border-top: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
td p { margin: 0 0 .15rem; }
td:first-child { width: 34%; } td:nth-child(2) { width: 22%; }
.refusals td:first-child { width: 5rem; } .refusals td:nth-child(2) { width: 40%; }
.prefix, .rules, .values, .release, .access, .format, #count { color: var(--soft); }
.required { color: var(--delete); font-size: 12px; }
.method { display: inline-block; min-width: 4.6em; font: 600 11px ui-monospace, monospace; }
.line .method { font-size: 14px; }
.get { color: var(--get); } .put { color: var(--put); } .post { color: var(--post); } .patch { color: var(--patch); } .delete { color: var(--delete); }
.status { display: inline-block; min-width: 2.6em; font-weight: 600; }
.done { color: var(--get); } .refused { color: var(--delete); }
@media (max-width: 60rem) { body { display: block; } .contents { position: static; max-height: none; padding: .5rem 1rem; border-bottom: 1px solid var(--line); }
  .contents summary { display: list-item; padding: .35rem 0; color: var(--soft); font-weight: 600; cursor: pointer; } header { padding: .75rem 1rem; } header nav { margin-left: 0; } }
@media print { header, .contents { display: none; } body { display: block; } section { break-inside: avoid; } }
`
