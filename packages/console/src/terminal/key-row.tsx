import { useState } from 'react'
import type { Emulator } from './emulator.ts'

const keys = [
  ['Esc', '\x1b', 'Escape'],
  ['Tab', '\t', 'Tab'],
  ['←', '\x1b[D', 'Left'],
  ['↓', '\x1b[B', 'Down'],
  ['↑', '\x1b[A', 'Up'],
  ['→', '\x1b[C', 'Right'],
] as const

const shape =
  'h-10 min-w-10 flex-1 rounded-md border border-line bg-raised px-1 text-[0.8125rem] text-ink select-none aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent'

/** Keys that phones lack. Ctrl holds for the next character. */
export function KeyRow({ emulator }: { emulator: Emulator }) {
  const [isHeld, setHeld] = useState(false)
  const hold = () => {
    emulator.holdsControl = !isHeld
    emulator.onControlUsed = () => setHeld(false)
    setHeld(!isHeld)
    emulator.focus()
  }
  return (
    <div
      role="toolbar"
      aria-label="Keys"
      className="flex shrink-0 gap-1 border-t border-line bg-surface p-1.5 lg:hidden"
    >
      <button type="button" aria-pressed={isHeld} onClick={hold} className={shape}>
        Ctrl
      </button>
      {keys.map(([label, sequence, name]) => (
        <button key={name} type="button" aria-label={name} onClick={() => emulator.press(sequence)} className={shape}>
          {label}
        </button>
      ))}
    </div>
  )
}
