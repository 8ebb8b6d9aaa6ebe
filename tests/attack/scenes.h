// The attacks that are more than one program: somebody outside acts too. Each answers like a program does,
// in lines of what was tried and what came of it.
#ifndef BERTH_TESTS_ATTACK_SCENES_H_
#define BERTH_TESTS_ATTACK_SCENES_H_

#include <string>

#include "scene.h"

namespace berth::attack {

std::string follow_links(Scene& scene);
std::string upload_elsewhere(Scene& scene);
std::string meet_landlock(Scene& scene);
std::string plant_hooks(Scene& scene);
std::string share_ipc_objects(Scene& scene);
std::string leave_daemon(Scene& scene);
std::string take_watches(Scene& scene);
std::string watch_others(Scene& scene);
std::string ask_for_network(Scene& scene);

}  // namespace berth::attack

#endif  // BERTH_TESTS_ATTACK_SCENES_H_
