import type { PushSubscription } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Bell, BellOff, MonitorSmartphone } from 'lucide-react'
import { useState } from 'react'
import { viewerQuery } from '../api/identity.ts'
import { queryClient } from '../api/queries.ts'
import { notifications } from '../notifications/choice.ts'
import { devicesQuery, pushVerdict, testPush, turnOffPush, turnOnPush } from '../notifications/push.ts'
import { usePushed, type Wishes } from '../notifications/pushed.ts'
import { Button } from '../ui/button.tsx'
import { useMinute } from '../ui/clock.ts'
import { ago } from '../ui/format.ts'
import { printableLine } from '../ui/printable.ts'
import { ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { browserName } from './browser-name.ts'

const wishes = [
  ['needsYou', 'An agent needs you', 'It asks to be allowed, asks a question or has a plan.'],
  ['runEnded', 'A run has ended', 'It has finished or failed.'],
] as const

/** Settings of notifications while no tab is open, for this browser and the person's others. */
export function PushSection() {
  const membershipId = useQuery(viewerQuery).data?.membership.id ?? ''
  const devices = useQuery(devicesQuery)
  const own = usePushed(membershipId)
  const [permission, setPermission] = useState(notifications.permission)
  const list = devices.data?.subscriptions ?? []
  const current = list.find(({ id }) => id === own?.id)
  const onSettled = () => queryClient.invalidateQueries(devicesQuery)
  // A mutation tells its variables only after the event, by which time the box would have gone back for a frame.
  const [wanted, setWanted] = useState<Wishes>()
  const wish = useMutation({
    mutationFn: async (wanted: Wishes) => {
      const answer = await Notification.requestPermission()
      setPermission(answer)
      if (answer === 'granted') await turnOnPush(wanted)
    },
    onSettled: async () => {
      await onSettled()
      setWanted(undefined)
    },
  })
  const end = useMutation({ mutationFn: turnOffPush, onSettled })
  const test = useMutation({ mutationFn: testPush, onSettled })
  const isOn = current !== undefined
  return (
    <section aria-labelledby="push" className="flex w-full flex-col items-start gap-4">
      <h2 id="push" className="text-[0.9375rem] font-semibold">
        While Berth is closed
      </h2>
      <p className="text-ink-2">
        This browser can be told even while no tab of Berth is open. The message says the title of the Session and what
        has happened, encrypted for this browser alone.
        {isOn && ' While this is on, open tabs leave it to these messages.'}
      </p>
      <p role="status" className="flex items-center gap-2 font-medium">
        {isOn ? (
          <Bell className="size-4 text-good" aria-hidden />
        ) : (
          <BellOff className="size-4 text-ink-3" aria-hidden />
        )}
        {isOn ? 'On for this browser' : 'Not set up for this browser'}
      </p>
      {isOn ? (
        <>
          <fieldset className="flex flex-col gap-2.5">
            <legend className="mb-2 text-[0.8125rem] font-medium">Tell me when</legend>
            {wishes.map(([key, label, hint]) => (
              <label key={key} className="flex cursor-pointer items-start gap-2.5">
                <input
                  type="checkbox"
                  className="mt-0.5 size-4 accent-accent"
                  checked={(wanted ?? current)[key]}
                  disabled={wish.isPending}
                  onChange={({ target }) => {
                    const { needsYou, runEnded } = current
                    const next = { needsYou, runEnded, [key]: target.checked }
                    setWanted(next)
                    wish.mutate(next)
                  }}
                />
                <span>
                  <span className="block text-[0.8125rem]">{label}</span>
                  <span className="block text-xs text-ink-3">{hint}</span>
                </span>
              </label>
            ))}
          </fieldset>
          <div className="flex flex-wrap items-center gap-2">
            <Button busy={end.isPending} onClick={() => end.mutate(current.id)}>
              Turn off here
            </Button>
            <Button variant="quiet" busy={test.isPending} onClick={() => test.mutate(current.id)}>
              Send a test
            </Button>
            <span role="status" className="text-xs text-ink-3">
              {test.isSuccess && 'It is on its way, and shows within seconds.'}
            </span>
          </div>
        </>
      ) : (
        <Button
          variant="primary"
          hint="above"
          verdict={pushVerdict(permission)}
          busy={wish.isPending}
          onClick={() => wish.mutate({ needsYou: true, runEnded: true })}
        >
          Turn on here
        </Button>
      )}
      <Problem error={wish.error ?? end.error ?? test.error} />
      {devices.isPending && <LoadingLines label="the browsers that are told" lines={2} />}
      {devices.isError && <ErrorState error={devices.error} retry={() => void devices.refetch()} />}
      {list.length > 0 && (
        <ul aria-label="Browsers that are told" className="flex w-full flex-col rounded-lg border border-line">
          {list.map(device => (
            <Device
              key={device.id}
              device={device}
              isCurrent={device === current}
              busy={end.isPending}
              onEnd={() => end.mutate(device.id)}
            />
          ))}
        </ul>
      )}
    </section>
  )
}

/** A browser that refuses to subscribe says so in words of its own, which tell a person nothing. */
function Problem({ error }: { error: unknown }) {
  if (!(error instanceof DOMException)) return <InlineProblem error={error} />
  return (
    <p role="alert" className="text-[0.8125rem] text-bad">
      The browser could not reach its push service. It may be blocked by the browser’s settings or by your network.
    </p>
  )
}

function Device(props: { device: PushSubscription; isCurrent: boolean; busy: boolean; onEnd: () => void }) {
  const { agent, createdAt, pushedAt, failing } = props.device
  const now = useMinute()
  const name = browserName(agent)
  const since = (at: string) => (ago(Date.parse(at), now) === 'now' ? 'just now' : `${ago(Date.parse(at), now)} ago`)
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-3 not-last:border-b not-last:border-line">
      <MonitorSmartphone className="size-5 shrink-0 text-ink-3" aria-hidden />
      <span className="min-w-0 flex-1">
        <span className="flex items-center gap-2" title={agent === null ? undefined : printableLine(agent)}>
          <span className="truncate font-medium">{name}</span>
          {props.isCurrent && (
            <span className="shrink-0 rounded-full bg-good-soft px-2 text-2xs font-medium text-good">This browser</span>
          )}
        </span>
        <span className="block text-xs text-ink-3">
          turned on {since(createdAt)} · {pushedAt === null ? 'told nothing yet' : `last told ${since(pushedAt)}`}
          {failing && <span className="text-bad"> · the last message was not accepted</span>}
        </span>
      </span>
      {!props.isCurrent && (
        <Button busy={props.busy} aria-label={`Turn off ${name}`} onClick={props.onEnd}>
          Turn off
        </Button>
      )}
    </li>
  )
}
