import type { StreamParser } from '@codemirror/language'

type Load = () => Promise<StreamParser<unknown>>

const js = () => import('@codemirror/legacy-modes/mode/javascript')
const clike = () => import('@codemirror/legacy-modes/mode/clike')
const css = () => import('@codemirror/legacy-modes/mode/css')

/** The parsers by the ends of file names. Each is fetched when a file of its kind is first shown. */
const loaders: Readonly<Record<string, Load>> = {
  'js mjs cjs jsx': async () => (await js()).javascript,
  'ts mts cts tsx': async () => (await js()).typescript,
  'json jsonc': async () => (await js()).json,
  'c h': async () => (await clike()).c,
  'cc cpp cxx hpp hh': async () => (await clike()).cpp,
  cs: async () => (await clike()).csharp,
  java: async () => (await clike()).java,
  'kt kts': async () => (await clike()).kotlin,
  scala: async () => (await clike()).scala,
  dart: async () => (await clike()).dart,
  css: async () => (await css()).css,
  scss: async () => (await css()).sCSS,
  less: async () => (await css()).less,
  'py pyi': async () => (await import('@codemirror/legacy-modes/mode/python')).python,
  go: async () => (await import('@codemirror/legacy-modes/mode/go')).go,
  rs: async () => (await import('@codemirror/legacy-modes/mode/rust')).rust,
  'rb rake gemfile rakefile': async () => (await import('@codemirror/legacy-modes/mode/ruby')).ruby,
  'sh bash zsh': async () => (await import('@codemirror/legacy-modes/mode/shell')).shell,
  'yaml yml': async () => (await import('@codemirror/legacy-modes/mode/yaml')).yaml,
  'md markdown': async () => (await import('./markdown-mode.ts')).markdown,
  toml: async () => (await import('@codemirror/legacy-modes/mode/toml')).toml,
  sql: async () => (await import('@codemirror/legacy-modes/mode/sql')).pgSQL,
  'html htm': async () => (await import('@codemirror/legacy-modes/mode/xml')).html,
  'xml svg vue xsd': async () => (await import('@codemirror/legacy-modes/mode/xml')).xml,
  swift: async () => (await import('@codemirror/legacy-modes/mode/swift')).swift,
  dockerfile: async () => (await import('@codemirror/legacy-modes/mode/dockerfile')).dockerFile,
  'diff patch': async () => (await import('@codemirror/legacy-modes/mode/diff')).diff,
  lua: async () => (await import('@codemirror/legacy-modes/mode/lua')).lua,
  'pl pm': async () => (await import('@codemirror/legacy-modes/mode/perl')).perl,
  hs: async () => (await import('@codemirror/legacy-modes/mode/haskell')).haskell,
  'clj cljs edn': async () => (await import('@codemirror/legacy-modes/mode/clojure')).clojure,
  'ps1 psm1': async () => (await import('@codemirror/legacy-modes/mode/powershell')).powerShell,
  'properties ini cfg conf env editorconfig': async () =>
    (await import('@codemirror/legacy-modes/mode/properties')).properties,
  proto: async () => (await import('@codemirror/legacy-modes/mode/protobuf')).protobuf,
  r: async () => (await import('@codemirror/legacy-modes/mode/r')).r,
  'erl hrl': async () => (await import('@codemirror/legacy-modes/mode/erlang')).erlang,
  jl: async () => (await import('@codemirror/legacy-modes/mode/julia')).julia,
  'groovy gradle': async () => (await import('@codemirror/legacy-modes/mode/groovy')).groovy,
}

const byEnd = new Map(Object.entries(loaders).flatMap(([ends, load]) => ends.split(' ').map(end => [end, load])))

/** Returns the way to a file's parser, or undefined for files of no known kind. */
export function loaderOf(path: string): Load | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  return byEnd.get(name.slice(name.lastIndexOf('.') + 1))
}
