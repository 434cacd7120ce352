import type { App } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext, useRouter } from '@tanstack/react-router'
import { AppWindow, ChevronLeft, Trash2, Webhook } from 'lucide-react'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { to } from '../../routing/to.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { Day } from '../../ui/dates.tsx'
import { Field, inputClass } from '../../ui/field.tsx'
import { EmptyState, ErrorState, LoadingLines } from '../../ui/states.tsx'
import { Facts, Part } from '../access/facts.tsx'
import { appsQuery, refreshAccess } from '../access/queries.ts'
import { keptAs, useDialog } from '../dialogs.ts'
import { formVerdict, LinesField, TextField } from '../form-dialog.tsx'
import { obstacleOf, useKeptForm } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { SectionPage } from '../section-page.tsx'
import { ActionProblem } from '../step-up.tsx'
import { nameFault, redirectFault, redirectsOf } from './app-fields.ts'
import { AppKeys } from './app-keys.tsx'

const route = getRouteApi('/shell/organization/apps/$appSlug')
const needs = 'organization.applications.manage'

/** One app: its name and addresses, and the keys of its backend. */
export function AppPage() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const { appSlug } = route.useParams()
  const organizationId = viewer.membership.organization.id
  const allowed = viewer.membership.capabilities.includes(needs)
  const list = useQuery({ ...appsQuery(organizationId), enabled: allowed })
  const app = list.data?.find(({ slug }) => slug === appSlug)
  const dialog = useDialog()
  const can = useOrganizationCan()
  return (
    <SectionPage
      title={app?.name ?? 'App'}
      needs={needs}
      actions={
        app !== undefined && (
          <>
            <Link {...to.webhooks({ app: app.slug })} className={buttonClass()}>
              <Webhook className="size-4" aria-hidden /> Webhooks
            </Link>
            <Button variant="danger" verdict={can('deleteApp')} onClick={() => dialog.open('delete')}>
              <Trash2 className="size-4" aria-hidden /> Delete
            </Button>
          </>
        )
      }
      below={
        <Link {...to.apps()} className="flex min-h-6 w-full items-center text-xs text-ink-2 hover:text-ink">
          <ChevronLeft className="size-3.5" aria-hidden /> Apps
        </Link>
      }
    >
      {app !== undefined && (
        <div key={app.slug} className="flex flex-col gap-6">
          <Facts
            facts={[
              [
                'Slug',
                <code key="slug" className="font-mono text-xs">
                  {app.slug}
                </code>,
              ],
              ['Created', <Day key="day" at={app.createdAt} />],
            ]}
          />
          <AppKeys organizationId={organizationId} slug={app.slug} dialog={dialog} />
          <AppForm organizationId={organizationId} app={app} />
          {dialog.name === 'delete' && <DeleteApp organizationId={organizationId} app={app} onClose={dialog.close} />}
        </div>
      )}
      {app === undefined && list.isPending && <LoadingLines label="the app" />}
      {app === undefined && list.isError && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      {app === undefined && list.isSuccess && (
        <EmptyState icon={AppWindow} title="No such app">
          It is deleted, in another organization, or the link is wrong.
        </EmptyState>
      )}
    </SectionPage>
  )
}

function AppForm({ organizationId, app }: { organizationId: string; app: App }) {
  const can = useOrganizationCan()
  const before = { name: app.name, redirects: app.redirectUrls.join('\n') }
  const form = useKeptForm({
    name: keptAs('settings', app.slug),
    initial: before,
    faultsOf: ({ name, redirects }) => ({ name: nameFault(name), redirects: redirectFault(redirectsOf(redirects)) }),
    send: ({ name, redirects }) =>
      call('PATCH', `account/apps/${app.slug}`, { name: name.trim(), redirectUrls: redirectsOf(redirects) }),
    onSent: () => refreshAccess(organizationId),
  })
  const { action, values, faults } = form
  const isSame = values.name.trim() === before.name && redirectsOf(values.redirects).join('\n') === before.redirects
  const verdict = formVerdict(can('changeApp'), obstacleOf(faults) ?? (isSame ? 'Nothing is changed.' : null))
  return (
    <Part id="app-settings" title="Name and addresses">
      <form
        className="flex max-w-lg flex-col gap-4"
        onChange={() => action.isPending || action.isIdle || action.reset()}
        onSubmit={event => {
          event.preventDefault()
          if (verdict.allowed) action.mutate()
        }}
      >
        <TextField form={form} name="name" label="Name" maxLength={100} />
        <LinesField
          form={form}
          name="redirects"
          label="Return addresses"
          hint="Where people go after they decided on an installation. One on each line, at most ten; https."
          exact
          rows={3}
          placeholder="https://shop.example.com/berth/installed"
        />
        <ActionProblem error={action.error} />
        <div className="flex items-center gap-3">
          <Button type="submit" busy={action.isPending} hint="above" verdict={verdict}>
            Save
          </Button>
          <p role="status" className="text-xs text-ink-3">
            {action.isSuccess && isSame ? 'Saved.' : ''}
          </p>
        </div>
      </form>
    </Part>
  )
}

function DeleteApp({ organizationId, app, onClose }: { organizationId: string; app: App; onClose: () => void }) {
  const router = useRouter()
  const can = useOrganizationCan()
  const [typed, setTyped] = useState('')
  const remove = useMutation({
    mutationFn: () => call('DELETE', `account/apps/${app.slug}`),
    onSuccess: async () => {
      await router.navigate({ ...to.apps(), replace: true })
      refreshAccess(organizationId)
    },
  })
  const verdict = can('deleteApp')
  return (
    <Confirm
      title={`Delete ${app.name}?`}
      act="Delete the app"
      verdict={
        verdict.allowed && typed !== app.slug ? { allowed: false, reason: `Type ${app.slug} to confirm.` } : verdict
      }
      busy={remove.isPending}
      problem={<ActionProblem error={remove.error} />}
      onAct={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        Its keys are refused at once, and it is revoked in every organization that has installed it: their Runs end
        within seconds. The slug is never given again.
      </p>
      <Field label={`Type ${app.slug} to confirm`}>
        {attributes => (
          <input
            {...attributes}
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={event => setTyped(event.target.value)}
            className={`${inputClass} font-mono text-[0.8125rem]`}
          />
        )}
      </Field>
    </Confirm>
  )
}
