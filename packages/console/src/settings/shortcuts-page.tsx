import { Shortcuts } from '../shell/shortcut-list.tsx'
import { singleKeys } from '../theme/preference.ts'
import { Page, Title } from '../ui/page.tsx'
import { Choice } from './choice.tsx'

const onOff = [
  ['on', 'On'],
  ['off', 'Off'],
] as const

/** Every shortcut of the keyboard. */
export function ShortcutsPage() {
  return (
    <Page title="Shortcuts">
      <Title>Shortcuts</Title>
      <p className="mb-5 text-ink-2">
        They work wherever you are not typing. <kbd className="font-mono">?</kbd> lists them on every page.
      </p>
      <Shortcuts />
      <div className="mt-7 max-w-md">
        <Choice
          name="keys"
          label="Single-character shortcuts"
          hint="Turn them off if you dictate, or strike keys by accident. The choice stays in this browser."
          options={onOff}
          value={singleKeys.use()}
          onChange={singleKeys.choose}
        />
      </div>
    </Page>
  )
}
