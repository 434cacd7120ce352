import { efforts, type Runtime } from '@berth/contract'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, useRouteContext } from '@tanstack/react-router'
import { CornerDownLeft } from 'lucide-react'
import { type KeyboardEvent, lazy, Suspense, useEffect } from 'react'
import { usesModel } from '../../api/lacks-model.ts'
import { problemOf } from '../../api/problem.ts'
import { runtimesQuery } from '../../api/queries.ts'
import { environmentsQuery } from '../../environments/queries.ts'
import { AttachmentList } from '../../message/attachment-list.tsx'
import { FileButton } from '../../message/file-button.tsx'
import { useAttachments, withSpoken } from '../../message/use-attachments.ts'
import { VoiceButton } from '../../message/voice-button.tsx'
import type { Verdict } from '../../session/session-can.ts'
import { Button } from '../../ui/button.tsx'
import { Field, inputClass, Select } from '../../ui/field.tsx'
import { useOnline } from '../../ui/online.ts'
import { Page, Title } from '../../ui/page.tsx'
import { InlineProblem, LoadingLines } from '../../ui/states.tsx'
import { TickBox } from '../../ui/tick-box.tsx'
import { demonstrationTask } from '../demonstration.tsx'
import { NoModel } from '../no-model.tsx'
import { type Draft, runtimeOf, useDraft } from './draft.ts'
import { type Faults, faultsOf } from './faults.ts'
import { useStart } from './use-start.ts'

/** The boxes that search need a library of their own; the message can be typed before it is there. */
const RepositoryFields = lazy(async () => ({ default: (await import('./repository-fields.tsx')).RepositoryFields }))

const route = getRouteApi('/shell/sessions/new')

/** Asks for a task, and starts a Session with it. */
export function NewSessionPage() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const link = route.useSearch()
  const { draft, change: keep, forget } = useDraft(link)
  const navigate = route.useNavigate()
  const isLink = Object.keys(link).length > 0
  // The draft has it now, and a reload must not undo what the person changes.
  useEffect(() => void (isLink && navigate({ search: {}, replace: true })), [isLink, navigate])
  const runtimes = useQuery(runtimesQuery).data ?? []
  const start = useStart(forget)
  const refusal = faultsOf(start.error)
  const faults: Faults = refusal ?? {}
  const online = useOnline()
  const verdict = verdictOf(draft, online, viewer.membership.capabilities)

  const change = (part: Partial<Draft>) => {
    if (!start.isPending) start.reset()
    keep(part)
  }
  const { attachments, refused, dropping, add, remove, drag, onPaste } = useAttachments(draft.message, () => change({}))
  const submit = () => {
    if (verdict.allowed && !start.isPending)
      start.mutate({ draft: { ...draft, runtime: runtimeOf(draft, runtimes) }, attachments })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return
    event.preventDefault()
    submit()
  }
  return (
    <Page title="New Session">
      <Title>New Session</Title>
      <NoModel
        onSample={repository =>
          change({
            repository,
            branch: null,
            linked: null,
            runtime: 'demo',
            model: '',
            effort: '',
            ...(draft.message.trim() === '' && { message: demonstrationTask }),
          })
        }
      />
      <form
        className="flex flex-col gap-5 not-first:mt-5"
        onKeyDown={onKeyDown}
        {...drag}
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
      >
        <Field
          label="What should the agent do?"
          hint="Markdown is fine. Drop or paste files here. Ctrl or ⌘ with Enter starts."
          fault={faults.message ?? faults.files ?? refused ?? undefined}
        >
          {attributes => (
            <div
              className={`rounded-lg border bg-raised focus-within:outline-2 focus-within:outline-accent ${dropping ? 'border-accent bg-accent-soft' : 'border-control'}`}
            >
              <textarea
                {...attributes}
                // biome-ignore lint/a11y/noAutofocus: the page is for typing this
                autoFocus
                required
                maxLength={100_000}
                value={draft.message}
                onChange={event => change({ message: event.target.value })}
                onPaste={onPaste}
                placeholder={
                  placeholders[runtimeOf(draft, runtimes)] ?? 'Fix the flaky login test, and say what made it flaky.'
                }
                className="field-sizing-content block max-h-[50dvh] min-h-36 w-full resize-none bg-transparent px-3 py-2.5 text-sm leading-relaxed outline-none max-lg:text-base"
              />
              <div className="flex flex-wrap items-center gap-1.5 px-2 pb-2">
                <AttachmentList attachments={attachments} onRemove={remove} />
                <span className="ml-auto flex flex-wrap items-center gap-1">
                  <FileButton onFiles={add} />
                  <VoiceButton
                    offered={viewer.features.transcription}
                    onText={text => change({ message: withSpoken(draft.message, text) })}
                  />
                </span>
              </div>
            </div>
          )}
        </Field>
        <Suspense fallback={<LoadingLines lines={2} label="the repositories" />}>
          <RepositoryFields draft={draft} change={change} faults={faults} />
        </Suspense>
        <div className="grid gap-5 sm:grid-cols-3">
          <RuntimeFields draft={draft} change={change} faults={faults} />
          <EnvironmentField draft={draft} change={change} faults={faults} />
          <Field
            label="Budget (US dollars)"
            hint="What it may spend on models. Then it asks how to go on."
            fault={faults.budget}
          >
            {attributes => (
              <input
                {...attributes}
                type="number"
                min={0.01}
                step="any"
                placeholder="No bound"
                value={draft.budget}
                onChange={event => change({ budget: event.target.value })}
                className={`${inputClass} tabular-nums`}
              />
            )}
          </Field>
        </div>
        {runtimeOf(draft, runtimes) === 'native' && (
          <TickBox
            checked={draft.plan}
            onChange={event => change({ plan: event.target.checked })}
            means="It proposes what to do, and waits until you approve it."
          >
            Plan first
          </TickBox>
        )}
        {refusal === null && <InlineProblem error={start.error} />}
        <div>
          <Button type="submit" variant="primary" hint="above" verdict={verdict} busy={start.isPending}>
            <CornerDownLeft className="size-4" aria-hidden /> Start
          </Button>
        </div>
      </form>
    </Page>
  )
}

function verdictOf({ message, linked }: Draft, online: boolean, capabilities: readonly string[]): Verdict {
  if (!capabilities.includes('svc.cloud.sessions:create')) {
    return { allowed: false, reason: 'Your membership does not include this. Ask an administrator.' }
  }
  if (!online) return { allowed: false, reason: 'You are offline. What you typed stays in this tab.' }
  if (linked !== null) return { allowed: false, reason: `Pick a repository first: ${linked} is not found.` }
  if (message.trim() === '') return { allowed: false, reason: 'Say first what the agent should do.' }
  return { allowed: true }
}

const placeholders: Readonly<Record<string, string>> = { shell: 'npm ci && npm test', demo: demonstrationTask }

/** Explains how an agent uses the message, if people would expect something else. */
const abouts: Readonly<Record<string, string>> = {
  shell: 'Runs your message as a bash script. No model reads it.',
  demo: 'A script without a model: it changes the sample repository, and asks once.',
}

const aboutOf = ({ id, name, version }: Runtime): string => abouts[id] ?? `${name} ${version ?? ''}`.trim()

interface FieldProps {
  readonly draft: Draft
  readonly change: (part: Partial<Draft>) => void
  readonly faults: Faults
}

function RuntimeFields({ draft, change, faults }: FieldProps) {
  const runtimes = useQuery(runtimesQuery)
  const runtime = runtimes.data?.find(({ id }) => id === runtimeOf(draft, runtimes.data))
  const models = runtime?.models ?? []
  // Without the catalog a Session can still start with the service's choice.
  const unread = runtimes.isError ? `The agents cannot be listed. ${problemOf(runtimes.error).advice}` : undefined
  return (
    <>
      <Field
        label="Agent"
        hint={unread ?? (runtime && (runtime.available ? aboutOf(runtime) : runtime.reason))}
        fault={faults.agent}
      >
        {attributes => (
          <Select
            {...attributes}
            value={runtime?.id ?? ''}
            onChange={event => change({ runtime: event.target.value, model: '', effort: '' })}
          >
            {runtime === undefined && <option value="">{runtimes.isPending ? 'Loading…' : 'Default'}</option>}
            {runtimes.data?.map(({ id, name, available }) => (
              <option key={id} value={id} disabled={!available}>
                {available ? name : `${name} (not available)`}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {models.length > 0 && (
        <Field label="Model">
          {attributes => (
            <Select {...attributes} value={draft.model} onChange={event => change({ model: event.target.value })}>
              <option value="">
                {runtime?.defaultModel === undefined ? 'Default of the agent' : `Default (${runtime.defaultModel})`}
              </option>
              {models.map(model => (
                <option key={model}>{model}</option>
              ))}
            </Select>
          )}
        </Field>
      )}
      {usesModel(runtime?.id) && (
        <Field label="Effort" hint="How hard the model may think." fault={faults.effort}>
          {attributes => (
            <Select
              {...attributes}
              value={draft.effort}
              onChange={event => change({ effort: event.target.value as Draft['effort'] })}
            >
              <option value="">Default of the model</option>
              {efforts.map(effort => (
                <option key={effort}>{effort}</option>
              ))}
            </Select>
          )}
        </Field>
      )}
    </>
  )
}

function EnvironmentField({ draft, change, faults }: FieldProps) {
  const environments = useInfiniteQuery(environmentsQuery(false)).data?.pages.flatMap(page => page.environments) ?? []
  const usual = environments.find(({ isDefault }) => isDefault)?.name
  return (
    <Field label="Environment" hint="What is installed before the agent begins." fault={faults.environment}>
      {attributes => (
        <Select
          {...attributes}
          value={draft.environment}
          onChange={event => change({ environment: event.target.value })}
        >
          <option value="">{usual === undefined ? 'None' : `Default (${usual})`}</option>
          {usual !== undefined && <option value="none">None</option>}
          {environments.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Select>
      )}
    </Field>
  )
}
