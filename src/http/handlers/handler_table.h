#pragma once

namespace paceline {

class Router;
struct HttpOptions;

/// Puts a handler behind every route that is served.
void install_handlers(Router& router, const HttpOptions& options);

}  // namespace paceline
