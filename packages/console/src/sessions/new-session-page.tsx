import { useMutation, useSuspenseQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { CornerDownLeft } from 'lucide-react'
import { type KeyboardEvent, useRef, useState } from 'react'
import { berth } from '../api/client.ts'
import { queryClient, runtimesQuery, sessionQuery } from '../api/queries.ts'
import { to } from '../routing/to.ts'
import { Button } from '../ui/button.tsx'
import { Field, inputClass, Select } from '../ui/field.tsx'
import { Page, Title } from '../ui/page.tsx'
import { InlineProblem } from '../ui/states.tsx'

interface Draft {
  readonly message: string
  readonly runtime: string
  readonly model: string
}

/** Asks for a task, and starts a Session with it. */
export function NewSessionPage() {
  const runtimes = useSuspenseQuery(runtimesQuery).data
  const navigate = useNavigate()
  const [draft, setDraft] = useState<Draft>({
    message: '',
    runtime:
      (runtimes.find(({ id, available }) => id === 'native' && available) ?? runtimes.find(r => r.available))?.id ??
      'native',
    model: '',
  })
  // A second press after a lost answer repeats the same ids, so it can never start two Sessions.
  const ids = useRef({ session: crypto.randomUUID(), turn: crypto.randomUUID() })
  const runtime = runtimes.find(({ id }) => id === draft.runtime)

  const start = useMutation({
    mutationFn: async () =>
      berth.sessions.create(ids.current.session, {
        initialTurn: { id: ids.current.turn, message: draft.message },
        ...(draft.runtime === 'native' ? {} : { runtime: draft.runtime }),
        ...(draft.model === '' ? {} : { model: draft.model }),
      }),
    onSuccess: async ({ session }) => {
      queryClient.setQueryData(sessionQuery(session.id).queryKey, session)
      void queryClient.invalidateQueries({ queryKey: ['sessions'] })
      await navigate(to.session(session.id))
    },
  })
  const change = (part: Partial<Draft>) => {
    ids.current = { session: crypto.randomUUID(), turn: crypto.randomUUID() }
    setDraft({ ...draft, ...part })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey) && draft.message.trim() !== '') start.mutate()
  }
  return (
    <Page title="New Session">
      <Title>New Session</Title>
      <form
        className="flex flex-col gap-5"
        onSubmit={event => {
          event.preventDefault()
          start.mutate()
        }}
      >
        <Field label="What should the agent do?" hint="Markdown is fine. ⌘ Enter starts.">
          {attributes => (
            <textarea
              {...attributes}
              // biome-ignore lint/a11y/noAutofocus: the page is for typing this
              autoFocus
              required
              rows={7}
              maxLength={100_000}
              value={draft.message}
              onChange={event => change({ message: event.target.value })}
              onKeyDown={onKeyDown}
              placeholder="Fix the flaky login test, and say what made it flaky."
              className={`${inputClass} resize-y leading-relaxed`}
            />
          )}
        </Field>
        <div className="grid gap-5 sm:grid-cols-2">
          <Field label="Agent" hint={runtime?.available === false ? runtime.reason : runtime?.version}>
            {attributes => (
              <Select
                {...attributes}
                value={draft.runtime}
                onChange={event => change({ runtime: event.target.value, model: '' })}
              >
                {runtimes.map(({ id, name, available }) => (
                  <option key={id} value={id} disabled={!available}>
                    {available ? name : `${name} (not available)`}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          {runtime?.models !== undefined && runtime.models.length > 0 && (
            <Field label="Model">
              {attributes => (
                <Select {...attributes} value={draft.model} onChange={event => change({ model: event.target.value })}>
                  <option value="">Default</option>
                  {runtime.models?.map(model => (
                    <option key={model}>{model}</option>
                  ))}
                </Select>
              )}
            </Field>
          )}
        </div>
        <InlineProblem error={start.error} />
        <div>
          <Button type="submit" look="primary" busy={start.isPending} disabled={draft.message.trim() === ''}>
            <CornerDownLeft className="size-4" aria-hidden /> Start
          </Button>
        </div>
      </form>
    </Page>
  )
}
