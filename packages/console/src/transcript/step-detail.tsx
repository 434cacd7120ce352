import type { ToolStep } from '@berth/client/transcript'
import { lazy, Suspense } from 'react'
import { CitedFile, fileLinkClass } from '../files/cited-file.tsx'
import { citedPlace } from '../files/cited-path.ts'
import { printable, printableLine } from '../ui/printable.ts'
import { TerminalText } from './terminal-text.tsx'

const LineDiff = lazy(() => import('./line-diff.tsx'))

/**
 * The input and the result of a tool call.
 * @param props.endOnly shows the end of its output alone, as nobody has asked for more
 */
export function StepDetail({ step, endOnly }: { step: ToolStep; endOnly: boolean }) {
  if (endOnly) {
    return (
      <div className="mb-2 ml-[1.875rem]">
        <div className="rounded-md border border-line bg-code">
          <TerminalText text={step.output ?? ''} className="max-h-48" atEnd />
        </div>
        {step.truncated && <Cut />}
      </div>
    )
  }
  const bare = step.input === undefined && step.output === undefined && step.diff === undefined
  return (
    <div className="mb-2 ml-[1.875rem] flex min-w-0 flex-col gap-2">
      <Suspense>
        {step.diff?.map(file => (
          <LineDiff key={file.path} file={file} />
        ))}
      </Suspense>
      {step.diff === undefined &&
        namedFiles(step.input).map(path => (
          <p key={path} className="font-mono text-xs text-accent underline">
            <CitedFile text={path} className={fileLinkClass}>
              {printableLine(path)}
            </CitedFile>
          </p>
        ))}
      {step.input !== undefined && step.diff === undefined && (
        <Block label={step.toolKind === 'execute' ? 'Command' : 'Input'} text={inputText(step.input)} />
      )}
      {step.output !== undefined && step.output !== '' && (
        <div className="rounded-md border border-line bg-code">
          <p className="border-b border-line px-2.5 py-1 text-2xs font-medium text-ink-3">Output</p>
          <TerminalText text={step.output} atEnd={step.toolKind === 'execute'} />
        </div>
      )}
      {step.truncated && <Cut />}
      {bare && <p className="text-xs text-ink-3">{step.status === 'running' ? 'Running…' : 'It left no output.'}</p>}
    </div>
  )
}

function Cut() {
  return <p className="text-xs text-ink-3">Cut to the size that the log keeps.</p>
}

/** Returns the files that a call works on, by the names that agents use for such members. */
function namedFiles(input: unknown): readonly string[] {
  const named = ['path', 'file_path', 'filePath'].map(key => Reflect.get(Object(input), key) as unknown)
  return named.filter(path => typeof path === 'string').filter(path => citedPlace(path) !== null)
}

/** A text that is alone, such as a command or a task, is shown as it was written; everything else as JSON. */
function inputText(input: unknown): string {
  const [only, ...others] = typeof input === 'string' ? [input] : Object.values(Object(input))
  if (typeof only === 'string' && others.length === 0) return only
  return JSON.stringify(input, null, 2) ?? ''
}

function Block({ label, text }: { label: string; text: string }) {
  return (
    <div className="rounded-md border border-line bg-code">
      <p className="border-b border-line px-2.5 py-1 text-2xs font-medium text-ink-3">{label}</p>
      <pre
        tabIndex={0}
        className="max-h-72 overflow-auto px-2.5 py-2 font-mono text-xs leading-relaxed whitespace-pre-wrap"
      >
        {printable(text)}
      </pre>
    </div>
  )
}
