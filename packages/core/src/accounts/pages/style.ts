import { typeface } from '../../http/reply/typeface.ts'

/** Style of every page of the account service. Pages embed it, and their policy allows it by digest. */
export const style = `${typeface}
:root { color-scheme: light dark; --ink: #17202b; --soft: #566273; --line: #d5dde6; --edge: #7d8b9d; --paper: #ffffff; --ground: #eef2f6;
  --glow: #e9f0fd; --accent: #1c5bc4; --accent-ink: #ffffff; --accent-deep: #174ca5; --wash: #f4f7fa; --bad: #a3261d; --bad-wash: #fdf0ee; --good: #12704a; --good-wash: #e4f4ec;
  --shadow: 0 1px 2px rgb(20 40 60 / .06), 0 16px 40px -12px rgb(20 40 60 / .18); }
@media (prefers-color-scheme: dark) { :root { --ink: #e7edf4; --soft: #9dabba; --line: #33414f; --edge: #708194; --paper: #161e27; --ground: #0d1319;
  --glow: #172440; --accent: #8ab4ff; --accent-ink: #0b1526; --accent-deep: #a6c6ff; --wash: #1c2630; --bad: #ff9d92; --bad-wash: #33201f; --good: #6fd3a3; --good-wash: #173226;
  --shadow: 0 1px 2px rgb(0 0 0 / .4), 0 16px 40px -12px rgb(0 0 0 / .6); } }
*, *::before, *::after { box-sizing: border-box; }
html { height: 100%; -webkit-text-size-adjust: 100%; }
body { margin: 0; min-height: 100%; display: flex; flex-direction: column; align-items: center; gap: 1.5rem; padding: clamp(1.75rem, 7vh, 6rem) 1rem 2.5rem;
  color: var(--ink); background: var(--ground) radial-gradient(60rem 34rem at 50% -8rem, var(--glow), transparent) no-repeat;
  font: 16px/1.5 Inter, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
.mark { display: flex; align-items: center; gap: .6rem; font-weight: 650; font-size: 1.15rem; letter-spacing: -.01em; }
.mark svg { width: 1.75rem; height: 1.75rem; } .mark rect { fill: var(--accent); } .mark path { fill: none; stroke: var(--accent-ink); stroke-width: 3; stroke-linejoin: round; }
main { width: 100%; max-width: 27rem; padding: 2rem; border: 1px solid var(--line); border-radius: 16px; background: var(--paper); box-shadow: var(--shadow); }
h1 { margin: 0; font-size: 1.4rem; line-height: 1.25; font-weight: 650; letter-spacing: -.015em; text-wrap: balance; overflow-wrap: anywhere; }
h2 { margin: 1.5rem 0 0; font-size: 1rem; line-height: 1.4; font-weight: 600; overflow-wrap: anywhere; }
.done { display: block; width: 2.75rem; height: 2.75rem; margin: 0 0 1rem; padding: .7rem; border-radius: 50%; color: var(--good); background: var(--good-wash); }
a { color: var(--accent); }
p { margin: .5rem 0 0; color: var(--soft); text-wrap: pretty; }
p strong { color: var(--ink); font-weight: 600; overflow-wrap: anywhere; }
form { margin: 1.5rem 0 0; }
form + p, ul.codes + p { margin-top: 1.25rem; }
p.note { margin-top: 1.25rem; font-size: .92rem; }
p.note + form { margin-top: 1rem; }
label { display: block; margin: 1rem 0 0; font-weight: 550; font-size: .92rem; }
label > input { display: block; width: 100%; margin: .375rem 0 0; }
small { font-size: .85rem; }
label > small { display: block; margin: .375rem 0 0; color: var(--soft); font-weight: 400; }
form > button { width: 100%; margin: 1.5rem 0 0; }
code { padding: .1em .35em; border-radius: 5px; background: var(--wash); font: .9em/1.4 ui-monospace, SFMono-Regular, Menlo, monospace; }
input[type=email], input[type=password], input[type=text] { min-height: 2.9rem; padding: .5rem .8rem; border: 1px solid var(--edge); border-radius: 9px;
  color: inherit; background: var(--paper); font: inherit; font-size: 1rem; font-weight: 400; }
input.code { font: 600 1.35rem/1.2 ui-monospace, SFMono-Regular, Menlo, monospace; letter-spacing: .18em; text-align: center; }
input[autocapitalize=characters] { text-transform: uppercase; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
input:focus-visible { outline-width: 2px; outline-offset: -1px; border-color: var(--accent); }
.buttons { display: flex; flex-direction: column; gap: .6rem; margin: 1.5rem 0 0; }
button { min-height: 2.9rem; padding: .5rem 1rem; border: 1px solid transparent; border-radius: 9px; color: var(--accent-ink); background: var(--accent); font: inherit;
  font-weight: 600; cursor: pointer; overflow-wrap: anywhere; }
button:hover { background: var(--accent-deep); }
button.second { color: var(--ink); background: transparent; border-color: var(--edge); font-weight: 550; }
button.second:hover { background: var(--wash); }
.wrong { margin: 1.25rem 0 0; padding: .7rem .9rem; border-radius: 9px; border-left: 4px solid var(--bad); color: var(--bad); background: var(--bad-wash); font-size: .94rem; }
fieldset { margin: 1.25rem 0 0; padding: 0; border: 0; min-width: 0; }
legend { padding: 0; font-weight: 550; font-size: .92rem; }
label.choice { font-weight: 400; font-size: 1rem; display: flex; align-items: center; gap: .75rem; margin: .5rem 0 0; padding: .75rem .9rem; border: 1px solid var(--edge); border-radius: 10px; cursor: pointer; }
label.choice:hover { background: var(--wash); }
label.choice:has(:checked) { border-color: var(--accent); background: var(--wash); }
label.choice:has(:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; }
label.choice > input { flex: none; width: 1.1rem; height: 1.1rem; margin: 0; min-height: 0; outline: 0; accent-color: var(--accent); }
label.choice span { min-width: 0; overflow-wrap: anywhere; }
label.choice small, dd small { display: block; color: var(--soft); }
ul { margin: .75rem 0 0; padding: 0 0 0 1.2rem; }
li { margin: .4rem 0 0; overflow-wrap: anywhere; }
ul.plain { padding: 0; list-style: none; }
ul.plain li { margin: .75rem 0 0; padding: .9rem 1rem; border: 1px solid var(--line); border-radius: 10px; }
ul.plain form { margin: .75rem 0 0; }
ul.plain button { margin: 0; }
ul.codes { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .4rem 1rem; margin-top: 1.25rem; padding: 0; list-style: none; }
ul.codes li { margin: 0; }
ul.codes code, dd code { padding: 0; background: none; }
.qr { display: block; width: 14rem; max-width: 100%; margin: 1.25rem auto 0; border-radius: 8px; }
li small { display: block; color: var(--soft); }
ul.may { padding: 0; list-style: none; }
ul.may li { position: relative; padding: 0 0 0 1.75rem; margin: .7rem 0 0; line-height: 1.4; }
ul.may li::before { content: ""; position: absolute; left: .35rem; top: .3rem; width: .32rem; height: .62rem; border: solid var(--good); border-width: 0 2.5px 2.5px 0; transform: rotate(45deg); }
ul.may small, dd small { font: .8rem/1.4 ui-monospace, SFMono-Regular, Menlo, monospace; }
dl { display: grid; grid-template-columns: minmax(4rem, auto) minmax(0, 1fr); gap: .5rem 1rem; margin: 1.25rem 0 0; padding: .9rem 1rem; border-radius: 10px; background: var(--wash); font-size: .94rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.user-code { margin: 1.25rem 0 0; padding: 1rem; border-radius: 10px; background: var(--wash); text-align: center; color: var(--ink);
  font: 650 1.75rem/1.2 ui-monospace, SFMono-Regular, Menlo, monospace; letter-spacing: .12em; }
@media (max-width: 30rem) { body { gap: 1.25rem; padding: 1.75rem .75rem 2rem; } main { padding: 1.5rem 1.25rem; border-radius: 14px; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dt:not(:first-child) { margin-top: .6rem; } dt { font-size: .85rem; } }
@media (forced-colors: active) { main, button, label.choice { border: 1px solid; } ul.may li::before { border-color: CanvasText; } }
`
