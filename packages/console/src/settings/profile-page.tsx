import { useMutation } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { LogOut } from 'lucide-react'
import { signOut } from '../api/identity.ts'
import { rememberOrganization } from '../api/organization.ts'
import { Button } from '../ui/button.tsx'
import { Field, Select } from '../ui/field.tsx'
import { Page, Title } from '../ui/page.tsx'
import { InlineProblem } from '../ui/states.tsx'

/** Who the person is, in which organization, and the way out. */
export function ProfilePage() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const leave = useMutation({
    mutationFn: signOut,
    onSuccess: ({ url }) => location.assign(url),
  })
  return (
    <Page title="Profile">
      <Title>Profile</Title>
      <div className="flex max-w-md flex-col gap-7">
        <div className="flex items-center gap-3">
          <span
            aria-hidden
            className="grid size-11 shrink-0 place-items-center rounded-full bg-accent-soft text-base font-semibold text-accent"
          >
            {viewer.user.name.slice(0, 1).toUpperCase()}
          </span>
          <span className="min-w-0">
            <span className="block truncate font-medium">{viewer.user.name}</span>
            <span className="block truncate text-[0.8125rem] text-ink-3">{viewer.user.email}</span>
          </span>
        </div>
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
        <div className="flex flex-col items-start gap-3">
          <InlineProblem error={leave.error} />
          <Button busy={leave.isPending} onClick={() => leave.mutate()}>
            <LogOut className="size-4" aria-hidden /> Sign out
          </Button>
        </div>
      </div>
    </Page>
  )
}
