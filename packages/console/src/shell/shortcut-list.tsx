import { Overlay } from '../ui/overlay.tsx'
import { showOverlay } from './overlay.ts'
import { commandKey } from './single-key.ts'

type Shortcut = readonly [keys: string, does: string]

const groups: readonly (readonly [where: string, shortcuts: readonly Shortcut[]])[] = [
  [
    'Everywhere',
    [
      [`${commandKey} K`, 'Search Sessions and pages'],
      ['c', 'New Session'],
      ['g  s', 'Go to the Sessions'],
      ['g  p', 'Go to the pull requests'],
      ['g  e', 'Go to the environments'],
      ['g  o', 'Go to the organization'],
      ['j  k', 'Next and previous in a list'],
      ['Esc', 'Close what is open'],
      ['?', 'This list'],
    ],
  ],
  [
    'List of Sessions',
    [
      ['Enter', 'Open'],
      ['p', 'Pin, or unpin'],
      ['m', 'Mark it as read'],
      ['h', 'Snooze it, or end its snooze'],
      ['x', 'Select it'],
      ['Shift x', 'Select all up to it'],
      ['e', 'Archive it, or all that are selected'],
    ],
  ],
  [
    'List of pull requests',
    [
      ['Enter', 'Open its Session'],
      ['s', 'Stop following it'],
      ['r', 'Follow it, or try again'],
    ],
  ],
  [
    'What waits for you',
    [
      ['a', 'Allow it once; approve the plan'],
      ['t  s', 'Allow it for the Turn, the Session'],
      ['x', 'Deny it'],
      ['1 … 9', 'Answer with an option'],
    ],
  ],
  [
    'Messages',
    [
      ['Enter', 'Send'],
      ['Shift Enter', 'New line'],
      ['/', 'Commands'],
      [`${commandKey} Enter`, 'Start a new Session, or save a comment'],
    ],
  ],
  [
    'Finding in a Session',
    [
      ['↓  Enter', 'Older match'],
      ['↑  Shift Enter', 'Newer match'],
    ],
  ],
  [
    'Changes',
    [
      ['n  p', 'Next and previous file'],
      ['u', 'Next file that was not viewed'],
      ['v', 'Mark a file as viewed'],
      ['f', 'Filter the tree of a review'],
      ['↑  ↓', 'Go through lines'],
      ['Enter', 'Comment on a line'],
    ],
  ],
  [
    'Files',
    [
      ['↑  ↓', 'Go through the tree'],
      ['→  ←', 'Open and close a folder'],
    ],
  ],
  ['Terminal', [['Ctrl Shift ↑', 'Leave it for the page']]],
]

/** Every shortcut with its effect, by the place where it works. */
export function Shortcuts() {
  return (
    <div className="grid gap-x-8 gap-y-5 sm:grid-cols-2">
      {groups.map(([where, shortcuts]) => (
        <section key={where} aria-label={where} className="flex flex-col gap-2">
          <h2 className="text-xs font-medium text-ink-3">{where}</h2>
          <dl className="grid grid-cols-[7.25rem_1fr] items-center gap-x-3 gap-y-2">
            {shortcuts.map(([keys, does]) => (
              <div key={keys} className="contents">
                <dt className="flex">
                  <kbd className="rounded border border-line-strong bg-surface px-1.5 py-0.5 font-mono text-xs whitespace-pre">
                    {keys}
                  </kbd>
                </dt>
                <dd className="text-[0.8125rem] text-ink-2">{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  )
}

/** Lists every shortcut over the page. */
export function ShortcutList() {
  return (
    <Overlay title="Keyboard shortcuts" onClose={() => showOverlay(null)}>
      {/* The list may be longer than the window, and keys scroll it. */}
      <section aria-label="List" tabIndex={0} className="px-5 pb-5 outline-none">
        <Shortcuts />
      </section>
    </Overlay>
  )
}
