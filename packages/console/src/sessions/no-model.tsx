import type { Repository } from '@berth/contract'
import { Link, useRouteContext } from '@tanstack/react-router'
import { CircleAlert } from 'lucide-react'
import { useLacksModel } from '../api/lacks-model.ts'
import { to } from '../routing/to.ts'
import { SampleButton } from './demonstration.tsx'

/** Says that no model is configured, how to add one, and which agents need none; nothing if there is one. */
export function NoModel({ onSample }: { onSample: (made: Repository) => void }) {
  const { viewer } = useRouteContext({ from: '/shell' })
  if (!useLacksModel()) return null
  return (
    <section
      aria-label="No model"
      className="flex flex-wrap items-center gap-x-4 gap-y-3 rounded-lg border border-warning-line bg-warning-soft px-4 py-3 text-[0.8125rem]"
    >
      <CircleAlert className="size-4 shrink-0 text-warning" aria-hidden />
      <p className="min-w-0 flex-1 basis-72">
        <strong className="font-semibold">No model is configured,</strong> so agents that think cannot work yet.{' '}
        {viewer.membership.role === 'admin' ? (
          <Link {...to.models()} className="text-accent underline underline-offset-2">
            Add a model
          </Link>
        ) : (
          'Ask an administrator to add one'
        )}
        , or see the whole way without one: a scripted agent changes a sample repository.
      </p>
      <SampleButton label="Try the demonstration" onMade={onSample} />
    </section>
  )
}
