import { Overlay } from '../ui/overlay.tsx'
import { showOverlay } from './overlay.ts'

const shortcuts: readonly (readonly [keys: string, does: string])[] = [
  ['⌘ K', 'Search Sessions and pages'],
  ['c', 'New Session'],
  ['j  k', 'Next and previous in a list'],
  ['Enter', 'Open, or send a message'],
  ['Shift Enter', 'New line in a message'],
  ['Esc', 'Close what is open'],
  ['?', 'This list'],
]

/** Lists every shortcut. */
export function ShortcutList() {
  return (
    <Overlay title="Keyboard shortcuts" onClose={() => showOverlay(null)}>
      <dl className="grid grid-cols-[auto_1fr] items-center gap-x-5 gap-y-2.5 px-5 pb-5">
        {shortcuts.map(([keys, does]) => (
          <div key={keys} className="contents">
            <dt>
              <kbd className="rounded border border-line-strong bg-surface px-1.5 py-0.5 font-mono text-xs whitespace-pre">
                {keys}
              </kbd>
            </dt>
            <dd className="text-ink-2">{does}</dd>
          </div>
        ))}
      </dl>
    </Overlay>
  )
}
