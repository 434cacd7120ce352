import { type Language, StreamLanguage, type StreamParser } from '@codemirror/language'
import { classHighlighter, highlightTree } from '@lezer/highlight'

type Mode = () => Promise<StreamParser<unknown>>

const parser = (mode: unknown) => mode as StreamParser<unknown>
const modes = {
  typescript: async () => parser((await import('@codemirror/legacy-modes/mode/javascript')).typescript),
  javascript: async () => parser((await import('@codemirror/legacy-modes/mode/javascript')).javascript),
  json: async () => parser((await import('@codemirror/legacy-modes/mode/javascript')).json),
  shell: async () => parser((await import('@codemirror/legacy-modes/mode/shell')).shell),
  python: async () => parser((await import('@codemirror/legacy-modes/mode/python')).python),
  go: async () => parser((await import('@codemirror/legacy-modes/mode/go')).go),
  rust: async () => parser((await import('@codemirror/legacy-modes/mode/rust')).rust),
  ruby: async () => parser((await import('@codemirror/legacy-modes/mode/ruby')).ruby),
  css: async () => parser((await import('@codemirror/legacy-modes/mode/css')).css),
  xml: async () => parser((await import('@codemirror/legacy-modes/mode/xml')).html),
  yaml: async () => parser((await import('@codemirror/legacy-modes/mode/yaml')).yaml),
  toml: async () => parser((await import('@codemirror/legacy-modes/mode/toml')).toml),
  sql: async () => parser((await import('@codemirror/legacy-modes/mode/sql')).standardSQL),
  c: async () => parser((await import('@codemirror/legacy-modes/mode/clike')).c),
  cpp: async () => parser((await import('@codemirror/legacy-modes/mode/clike')).cpp),
  java: async () => parser((await import('@codemirror/legacy-modes/mode/clike')).java),
  kotlin: async () => parser((await import('@codemirror/legacy-modes/mode/clike')).kotlin),
  csharp: async () => parser((await import('@codemirror/legacy-modes/mode/clike')).csharp),
  dockerfile: async () => parser((await import('@codemirror/legacy-modes/mode/dockerfile')).dockerFile),
  diff: async () => parser((await import('@codemirror/legacy-modes/mode/diff')).diff),
  lua: async () => parser((await import('@codemirror/legacy-modes/mode/lua')).lua),
  swift: async () => parser((await import('@codemirror/legacy-modes/mode/swift')).swift),
  properties: async () => parser((await import('@codemirror/legacy-modes/mode/properties')).properties),
} as const satisfies Record<string, Mode>

const extensions: Readonly<Record<string, keyof typeof modes>> = {
  ts: 'typescript',
  tsx: 'typescript',
  mts: 'typescript',
  cts: 'typescript',
  js: 'javascript',
  jsx: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  json: 'json',
  jsonc: 'json',
  sh: 'shell',
  bash: 'shell',
  zsh: 'shell',
  py: 'python',
  pyi: 'python',
  go: 'go',
  rs: 'rust',
  rb: 'ruby',
  css: 'css',
  html: 'xml',
  htm: 'xml',
  xml: 'xml',
  svg: 'xml',
  vue: 'xml',
  yaml: 'yaml',
  yml: 'yaml',
  toml: 'toml',
  sql: 'sql',
  c: 'c',
  h: 'c',
  cc: 'cpp',
  cpp: 'cpp',
  hpp: 'cpp',
  java: 'java',
  kt: 'kotlin',
  kts: 'kotlin',
  cs: 'csharp',
  dockerfile: 'dockerfile',
  diff: 'diff',
  patch: 'diff',
  lua: 'lua',
  swift: 'swift',
  ini: 'properties',
  conf: 'properties',
  env: 'properties',
}

/** A piece of a line in one colour; '' for plain text. */
export interface Piece {
  readonly text: string
  readonly look: string
}

/** Returns the pieces of every line, or null if the language of the file is not known. */
export async function highlight(name: string, lines: readonly string[]): Promise<readonly (readonly Piece[])[] | null> {
  const key = extensions[name.slice(name.lastIndexOf('.') + 1).toLowerCase()]
  if (key === undefined) return null
  const language: Language = StreamLanguage.define(await modes[key]())
  const text = lines.join('\n')
  const pieces: Piece[][] = lines.map(() => [])
  let line = 0
  let lineStart = 0
  let at = 0
  /** Adds the text up to an end, which may lie some lines below. */
  const add = (end: number, look: string) => {
    while (at < end) {
      const lineEnd = lineStart + (lines[line]?.length ?? 0)
      const to = Math.min(end, lineEnd)
      if (to > at) pieces[line]?.push({ text: text.slice(at, to), look })
      at = to
      if (at === lineEnd && end > lineEnd) {
        line += 1
        lineStart = lineEnd + 1
        at = lineStart
      }
    }
  }
  highlightTree(language.parser.parse(text), classHighlighter, (from, to, look) => {
    add(from, '')
    add(to, look)
  })
  add(text.length, '')
  return pieces
}
