import type { Session } from '@berth/client'
import { Dock } from '../interactions/dock.tsx'
import { BackgroundList } from './background-list.tsx'
import { Banner } from './banner.tsx'
import { TodoList } from './todo-list.tsx'

/** The parts above the message box: decisions, the agent's to-do list, its commands in the background, and a warning. */
export function AboveMessage({ session }: { session: Session }) {
  return (
    <>
      <Dock session={session} />
      <TodoList key={`todo/${session.id}`} session={session} />
      <BackgroundList key={`background/${session.id}`} session={session} />
      <Banner session={session} />
    </>
  )
}
