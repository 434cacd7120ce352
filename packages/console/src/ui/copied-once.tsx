import { Check, Copy } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { Button } from './button.tsx'

/** A value that the service shows this once, with the way to take it along. */
export function CopiedOnce(props: { label: string; value: string; children: ReactNode; onDone: () => void }) {
  const { label, value, children, onDone } = props
  const text = useRef<HTMLElement>(null)
  const [state, setState] = useState<'shown' | 'copied' | 'blocked'>('shown')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value)
      setState('copied')
    } catch {
      if (text.current !== null) getSelection()?.selectAllChildren(text.current)
      setState('blocked')
    }
  }
  return (
    <div className="flex flex-col gap-4 px-5 pb-5">
      <div className="flex flex-col gap-1.5">
        <p className="text-[0.8125rem] font-medium">{label}</p>
        <div className="flex items-start gap-2 rounded-md border border-line bg-code p-2.5">
          <code ref={text} className="min-w-0 flex-1 self-center font-mono text-xs leading-5 [overflow-wrap:anywhere]">
            {value}
          </code>
          <Button variant="primary" onClick={() => void copy()}>
            {state === 'copied' ? <Check className="size-4" aria-hidden /> : <Copy className="size-4" aria-hidden />}
            {state === 'copied' ? 'Copied' : 'Copy'}
          </Button>
        </div>
        <p role="status" className="min-h-4 text-xs text-ink-3">
          {state === 'copied' && 'It is in your clipboard.'}
          {state === 'blocked' && 'The browser did not allow it. The text is selected: copy it with the keyboard.'}
        </p>
      </div>
      <div className="text-[0.8125rem] text-ink-2">{children}</div>
      <div>
        <Button onClick={onDone}>Done</Button>
      </div>
    </div>
  )
}
