import { density, motion } from '../theme/preference.ts'
import { chooseTheme, useThemeChoice } from '../theme/theme.ts'
import { Page, Title } from '../ui/page.tsx'
import { Choice } from './choice.tsx'

const themes = [
  ['system', 'Like the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const
const sizes = [
  ['compact', 'Compact'],
  ['normal', 'Normal'],
  ['large', 'Large'],
] as const
const motions = [
  ['system', 'Like the system'],
  ['reduced', 'Reduced'],
] as const

/** How the page looks in this browser. */
export function AppearancePage() {
  return (
    <Page title="Appearance">
      <Title>Appearance</Title>
      <div className="flex max-w-md flex-col gap-7">
        <Choice name="theme" label="Theme" options={themes} value={useThemeChoice()} onChange={chooseTheme} />
        <Choice
          name="density"
          label="Size"
          hint="Compact shows more rows; Large is easier to read."
          options={sizes}
          value={density.use()}
          onChange={density.choose}
        />
        <Choice
          name="motion"
          label="Motion"
          hint="Reduced keeps everything still, whatever the system says."
          options={motions}
          value={motion.use()}
          onChange={motion.choose}
        />
        <p className="text-xs text-ink-3">These choices stay in this browser.</p>
      </div>
    </Page>
  )
}
