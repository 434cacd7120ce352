import { Check, Copy } from 'lucide-react'
import { useMemo, useState } from 'react'
import { CodeText } from '../changes/code-text.tsx'
import { useGrowingColours } from '../changes/colours.ts'
import type { Span } from '../changes/line-parts.ts'
import { printableLine } from '../ui/printable.ts'

/** Names of languages whose files end otherwise; every other name is the end of a file's name. */
const ends: Readonly<Record<string, string>> = {
  javascript: 'js',
  typescript: 'ts',
  python: 'py',
  shell: 'sh',
  console: 'sh',
  golang: 'go',
  rust: 'rs',
  ruby: 'rb',
  'c++': 'cpp',
  csharp: 'cs',
  kotlin: 'kt',
  perl: 'pl',
  haskell: 'hs',
  clojure: 'clj',
  powershell: 'ps1',
  protobuf: 'proto',
  erlang: 'erl',
  julia: 'jl',
}

/** A long block would hide the content below it, and a browser needs long for its elements. */
const drawnLines = 200
const none: readonly Span[] = []

/** A block of code in an agent's message: its language, its colours, and a button that copies it as it is shown. */
export function CodeBlock({ text, language }: { text: string; language: string }) {
  const name = language.toLowerCase()
  const path = Object.hasOwn(ends, name) ? `.${ends[name]}` : `.${name}`
  const [all, setAll] = useState(false)
  const lines = useMemo(() => text.split('\n'), [text])
  const drawn = useMemo(() => (all ? lines : lines.slice(0, drawnLines)), [all, lines])
  const colours = useGrowingColours(path, drawn)
  const [copied, setCopied] = useState<string | null>(null)
  return (
    <div dir="ltr" className="overflow-hidden rounded-lg border border-line bg-code">
      <div className="flex items-center border-b border-line pl-3 text-xs text-ink-3">
        <span className="min-w-0 flex-1 truncate">{printableLine(language)}</span>
        <button
          type="button"
          onClick={async () => {
            await navigator.clipboard.writeText(text)
            setCopied(text)
          }}
          className="inline-flex min-h-7 items-center gap-1.5 px-2.5 hover:text-ink max-lg:min-h-9"
        >
          {copied === text ? <Check className="size-3.5" aria-hidden /> : <Copy className="size-3.5" aria-hidden />}
          {copied === text ? 'Copied' : 'Copy'}
        </button>
        <span role="status" className="sr-only">
          {copied === text ? 'The code is copied.' : ''}
        </span>
      </div>
      <pre tabIndex={0}>
        <code>
          {drawn.map((line, at) => (
            <span key={at} className="block min-h-[1lh]">
              <CodeText text={line} spans={colours[at] ?? none} />
            </span>
          ))}
        </code>
      </pre>
      {drawn.length < lines.length && (
        <button
          type="button"
          onClick={() => setAll(true)}
          className="w-full border-t border-line py-1.5 text-xs text-ink-2 hover:bg-hover max-lg:py-2.5"
        >
          Show all {lines.length.toLocaleString('en')} lines
        </button>
      )}
    </div>
  )
}
