import { useMutation } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { LogOut } from 'lucide-react'
import { call } from '../api/client.ts'
import { rememberOrganization } from '../api/organization.ts'
import { showOverlay } from '../shell/overlay.ts'
import { chooseTheme, type ThemeChoice, useThemeChoice } from '../theme/theme.ts'
import { Button } from '../ui/button.tsx'
import { Field, Select } from '../ui/field.tsx'
import { Page, Title } from '../ui/page.tsx'
import { InlineProblem } from '../ui/states.tsx'

const themes: readonly (readonly [ThemeChoice, string])[] = [
  ['system', 'Like the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

/** Who the person is here, how the page looks, and the way out. */
export function SettingsPage() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const theme = useThemeChoice()
  const leave = useMutation({
    mutationFn: () => call<{ url: string }>('POST', 'auth/sign-out'),
    onSuccess: ({ url }) => location.assign(url),
  })
  return (
    <Page title="Settings">
      <Title>Settings</Title>
      <div className="flex max-w-md flex-col gap-8">
        <section aria-labelledby="you" className="flex flex-col gap-3">
          <h2 id="you" className="text-sm font-semibold">
            You
          </h2>
          <p>
            {viewer.user.name} <span className="text-ink-3">{viewer.user.email}</span>
          </p>
          <Field label="Organization" hint={`Your role: ${viewer.membership.role}. This choice is for this tab.`}>
            {attributes => (
              <Select
                {...attributes}
                value={viewer.membership.organization.id}
                onChange={event => {
                  rememberOrganization(event.target.value)
                  location.assign('/')
                }}
              >
                {viewer.memberships.map(({ organization }) => (
                  <option key={organization.id} value={organization.id}>
                    {organization.name}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <InlineProblem error={leave.error} />
          <div>
            <Button busy={leave.isPending} onClick={() => leave.mutate()}>
              <LogOut className="size-4" aria-hidden /> Sign out
            </Button>
          </div>
        </section>
        <section aria-labelledby="looks" className="flex flex-col gap-3">
          <h2 id="looks" className="text-sm font-semibold">
            Appearance
          </h2>
          <fieldset className="flex gap-1.5">
            <legend className="sr-only">Theme</legend>
            {themes.map(([choice, label]) => (
              <label
                key={choice}
                className="flex h-9 flex-1 items-center justify-center rounded-md border border-line-strong text-[0.8125rem] has-checked:border-accent has-checked:bg-accent-soft has-focus-visible:outline-2 has-focus-visible:outline-accent"
              >
                <input
                  type="radio"
                  name="theme"
                  className="sr-only"
                  checked={theme === choice}
                  onChange={() => chooseTheme(choice)}
                />
                {label}
              </label>
            ))}
          </fieldset>
        </section>
        <section aria-labelledby="keys" className="flex flex-col items-start gap-3 max-lg:hidden">
          <h2 id="keys" className="text-sm font-semibold">
            Keyboard
          </h2>
          <Button onClick={() => showOverlay('shortcuts')}>Show the shortcuts</Button>
        </section>
      </div>
    </Page>
  )
}
