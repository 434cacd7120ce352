import { Link, useNavigate } from '@tanstack/react-router'
import { GitPullRequest, MessageCircleQuestion, MessageSquare, Plus } from 'lucide-react'
import { to } from '../routing/to.ts'
import { buttonClass } from '../ui/button.tsx'
import { demonstrationTask } from './demonstration.tsx'
import { NoModel } from './no-model.tsx'

const steps = [
  [MessageSquare, 'Ask', 'Say what should happen. An agent begins in a sandbox of its own.'],
  [MessageCircleQuestion, 'Answer', 'It asks when it must. You decide here, from any device, while it works.'],
  [GitPullRequest, 'Deliver', 'Read the changes. What you reviewed is exactly what is published.'],
] as const

/** The list of an organization that has no Session yet: an introduction, and the way to begin. */
export function FirstRun({ name }: { name: string }) {
  const navigate = useNavigate()
  return (
    <div className="mx-auto flex max-w-2xl flex-col gap-7 px-6 py-16">
      <div className="flex flex-col gap-2">
        <h2 className="text-xl font-semibold">Welcome, {name.split(' ')[0]}</h2>
        <p className="text-ink-2">
          A Session is a conversation with an agent that works for you. It goes on when you close this page.
        </p>
      </div>
      <ol className="grid gap-3 sm:grid-cols-3">
        {steps.map(([Icon, title, text]) => (
          <li key={title} className="rounded-xl border border-line bg-surface p-4">
            <Icon className="size-5 text-accent" aria-hidden />
            <h3 className="mt-3 text-sm font-semibold">{title}</h3>
            <p className="mt-1 text-[0.8125rem] text-ink-2">{text}</p>
          </li>
        ))}
      </ol>
      <NoModel
        onSample={({ fullName }) =>
          void navigate(to.newSession({ q: demonstrationTask, repo: fullName, agent: 'demo' }))
        }
      />
      <div>
        <Link {...to.newSession()} className={buttonClass('primary')}>
          <Plus className="size-4" aria-hidden /> Start the first Session
        </Link>
      </div>
      <p className="text-xs text-ink-3">
        From a terminal: <code className="font-mono">berth login</code>, then{' '}
        <code className="font-mono">berth run</code>. Both show up here.
      </p>
    </div>
  )
}
